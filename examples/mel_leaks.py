"""A classifier of recordings from segments of mel spectrograms: train, augment, evaluate whole recordings by votes.

mel_leaks.py SET.h5 [--epochs 3] [--validation-share 0.25] [--batch-size 5632]
             [--amp] [--accumulate 4] [--compile [BACKEND]]

The file has `segments_mel` (recordings, long, short, mels, frames) and `labels` (recordings), of any type of numbers.
"""

import argparse
import contextlib

import numpy as np
import torch

import headrace as hr
from headrace import transforms as T

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--validation-share", type=float, default=0.25)
parser.add_argument("--batch-size", type=int, default=5632)
parser.add_argument("--amp", action="store_true", help="bfloat16 where it is enough")
parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="a step of the optimizer every N batches")
parser.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help="torch.compile")
words = parser.parse_args()

torch.manual_seed(0)
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
precision = torch.autocast(device.type, torch.bfloat16) if words.amp else contextlib.nullcontext()
# A sample is one short segment; each has the label of its recording, which is stored once.
mel = hr.open(words.files, {"mel": "segments_mel"}, sample_axes=3, broadcast={"y": "labels"})
recordings, long, short = mel.sample_shape[0]
first = round(recordings * (1 - words.validation_share)) * long * short  # whole recordings are held out
train, validation = mel.select(slice(0, first)), mel.select(slice(first, None))
mels, frames = mel.fields["mel"].shape
mean, std = train.stats("mel")

classes = int(mel["y"][:].max()) + 1
model = torch.nn.Sequential(
    torch.nn.Flatten(), torch.nn.Linear(mels * frames, 64), torch.nn.ReLU(), torch.nn.Linear(64, classes)
).to(device)
network = torch.compile(model, backend=words.compile) if words.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scale = T.Standardize("mel", mean, std, clip=5.0)
augmented = train.map(scale, T.Cast("y", "int64", exact=True))  # cross_entropy takes int64 labels alone
stripes = {name: widest for name, widest in (("time", frames // 4), ("freq", mels // 5)) if widest}
if stripes:  # one frame is never blanked
    augmented = augmented.map(T.SpecAugment("mel", **stripes, seed=3))
loader = hr.Loader(augmented, words.batch_size, shuffle=True, framework="torch")
for epoch in range(words.epochs):
    total = torch.zeros((), device=device)
    for step, batch in enumerate(loader, 1):
        x, y = batch["mel"].to(device), batch["y"].to(device)
        with precision:
            loss = torch.nn.functional.cross_entropy(network(x), y)
        (loss / words.accumulate).backward()
        if step % words.accumulate == 0 or step == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach()
    print(f"epoch {epoch}: mean loss {total.item() / len(loader):.3f}")
loader.close()

# Short segments vote for a long one, long ones for the recording; where each belongs, the loader knows.
held_out = hr.Loader(validation.map(scale), group_by=0, max_items=words.batch_size, framework="torch", provenance=True)
reducer = hr.GroupReducer(held_out, reduce=["vote", "mean"], nested=["short", "long", "file"])
truth = np.asarray(mel["y"][:: long * short])
with held_out, torch.inference_mode():
    for batch in held_out:  # of different lengths, so that nothing is compiled for them
        with precision:
            scores = model(batch["mel"].to(device))
        reducer.add(batch, scores.float().softmax(dim=1))
files = {name: np.asarray(values) for name, values in reducer.result()["file"].items()}
seen = np.flatnonzero(files["count"])
votes, means = files["vote"][seen], files["mean"][seen].argmax(axis=1)
print(f"{len(seen)} recordings held out: {np.mean(votes == truth[seen]):.1%} right by votes, ", end="")
print(f"{np.mean(means == truth[seen]):.1%} by means")
