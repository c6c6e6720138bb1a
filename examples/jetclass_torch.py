"""The JetClass classifier in a plain PyTorch loop, on the device that torch has.

jetclass_torch.py 'train_*.h5' [--epochs N] [--amp] [--accumulate 4] [--compile] [--batches N] [--device D]
"""

import argparse
import contextlib
import itertools

import torch
from jet_transformer import JetTransformer

import headrace as hr
from headrace import transforms as T
from headrace.torch import DataLoader

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("files")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batches", type=int, help="at most so many batches an epoch")
parser.add_argument("--amp", action="store_true", help="bfloat16 where it is enough")
parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="a step of the optimizer every N batches")
parser.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help="torch.compile")
parser.add_argument("--device", help='default: the accelerator that torch has; "fake": as if there were one')
words = parser.parse_args()

accelerator = torch.accelerator.current_accelerator(check_available=True)
destination = words.device or accelerator or "cpu"
device = torch.device("cpu" if destination == "fake" else destination)
jets = hr.open(words.files, {"nodes": "feature_matrix", "pairs": "adjacency_matrix", "label": "labels"})
jets = jets.map(T.Mask("nodes", to="there", count="count"), T.SymmetricPairs("pairs", sentinel=-999.0))
loader = DataLoader(jets, batch_size=128, shuffle=True, memory="1GiB", device=destination)
model = JetTransformer(features=jets.fields["nodes"].shape[1]).to(device)
network = torch.compile(model, backend=words.compile) if words.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
precision = torch.autocast(device.type, torch.bfloat16) if words.amp else contextlib.nullcontext()

for epoch in range(words.epochs):
    number = len(loader) if words.batches is None else min(words.batches, len(loader))
    total = torch.zeros((), device=device)
    for step, batch in enumerate(itertools.islice(loader, number), 1):
        with precision:
            scores = network(batch["nodes"], batch["pairs"], batch["count"])
            loss = torch.nn.functional.cross_entropy(scores, batch["label"])
        (loss / words.accumulate).backward()
        if step % words.accumulate == 0 or step == number:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach()
    print(f"epoch {epoch}: mean loss {total.item() / number:.3f} over {number} batches")
print(loader.loader.report().verdict)
loader.close()
