"""The JetClass classifier in an Accelerate loop: on one device or several, by `accelerate launch`.

jetclass_accelerate.py 'train_*.h5' [--epochs N] [--amp] [--accumulate 4] [--compile] [--batches N] [--device D]
"""

import argparse
import itertools

import torch
from accelerate import Accelerator
from jet_transformer import JetTransformer

import headrace as hr
from headrace import transforms as T
from headrace.accelerate import prepare

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("files")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batches", type=int, help="at most so many batches an epoch")
parser.add_argument("--amp", action="store_true", help="bfloat16 where it is enough")
parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="a step of the optimizer every N batches")
parser.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help="torch.compile")
parser.add_argument("--device", default="cpu", help='default: Accelerate\'s; "fake": as if there were one')
words = parser.parse_args()

accelerator = Accelerator(gradient_accumulation_steps=words.accumulate, mixed_precision="bf16" if words.amp else "no")
jets = hr.open(words.files, {"nodes": "feature_matrix", "pairs": "adjacency_matrix", "label": "labels"})
jets = jets.map(T.Mask("nodes", to="there", count="count"), T.SymmetricPairs("pairs", sentinel=-999.0))
model = JetTransformer(features=jets.fields["nodes"].shape[1])
model = torch.compile(model, backend=words.compile) if words.compile else model
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
loader = prepare(
    hr.Loader(jets, batch_size=128, shuffle=True, memory="1GiB", framework="torch", device=words.device), accelerator
)

for epoch in range(words.epochs):
    number = len(loader) if words.batches is None else min(words.batches, len(loader))
    total = torch.zeros((), device=accelerator.device)
    for batch in itertools.islice(loader, number):  # on accelerator.device already
        with accelerator.accumulate(model):
            scores = model(batch["nodes"], batch["pairs"], batch["count"])
            loss = torch.nn.functional.cross_entropy(scores, batch["label"])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach()
    accelerator.print(f"epoch {epoch}: mean loss {total.item() / number:.3f} over {number} batches")
accelerator.print(loader.report().verdict)
loader.close()
