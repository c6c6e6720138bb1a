"""The direction of a neutrino, learnt from the pulses of its event, of many Parquet files, in plain PyTorch.

icecube.py FOLDER [--files 'train/batch_*.parquet'] [--layout padded|ragged] [--most-pulses 256] [--steps 300]

FOLDER is that of the competition "IceCube - Neutrinos in Deep Ice": train/batch_N.parquet with a row for each pulse,
train_meta.parquet with the first and last row and the direction of each event, sensor_geometry.csv with a row for each
sensor.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

import torch

import headrace as hr
from headrace import transforms as T

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=Path)
parser.add_argument("--files", default="train/batch_*.parquet", help="files of pulses; a part of them is fine")
parser.add_argument("--layout", choices=("padded", "ragged"), default="padded")
for name, number in (("most-pulses", 256), ("batch-size", 64), ("steps", 300), ("width", 64)):
    parser.add_argument(f"--{name}", type=int, default=number)
words = parser.parse_args()

events = hr.open(
    str(words.folder / words.files),
    fields=["sensor_id", "time", "charge", "auxiliary"],
    sample_by=hr.Spans(
        meta=words.folder / "train_meta.parquet",
        file="batch_id",
        file_template="batch_{batch_id}.parquet",
        first="first_pulse_index",
        last="last_pulse_index",
    ),
    targets=["azimuth", "zenith"],
)
events = events.join(words.folder / "sensor_geometry.csv", on="sensor_id", fields=["x", "y", "z"])
features = ["x", "y", "z", "time", "charge", "auxiliary"]
events = events.map(
    *(T.Affine(axis, 1 / 500) for axis in "xyz"),
    T.Affine("time", 1 / 3.0e3, -1.0e4 / 3.0e3),
    T.Clip("charge", least=1e-3),
    T.Log("charge", base=10),
    *(T.Cast(name, "float32") for name in features),
    T.Concat(features, to="pulses"),
    T.Truncate(words.most_pulses, method="random"),  # other pulses of long events in each epoch
)


def with_direction(batch: dict[str, Any]) -> dict[str, Any]:
    """Add the direction of each event as a unit vector."""
    azimuth, zenith = batch["azimuth"].float(), batch["zenith"].float()
    ring = zenith.sin()
    batch["direction"] = torch.stack([azimuth.cos() * ring, azimuth.sin() * ring, zenith.cos()], -1)
    return batch


class Direction(torch.nn.Module):
    """A network of each pulse, the mean over an event's pulses, and a network of that."""

    def __init__(self, width: int) -> None:
        super().__init__()
        gelu, linear = torch.nn.GELU, torch.nn.Linear
        self.pulse = torch.nn.Sequential(linear(6, width), gelu(), linear(width, width), gelu(), linear(width, width))
        self.event = torch.nn.Sequential(gelu(), linear(width, width), gelu(), linear(width, 3))

    def forward(self, batch: dict[str, Any]) -> torch.Tensor:
        hidden = self.pulse(batch["pulses"])
        if "mask" in batch:  # padded: (events, longest, width)
            total = (hidden * batch["mask"][..., None]).sum(1)
            count = batch["lengths"]
        else:  # ragged: (pulses of all events, width)
            count = batch["pulses.offsets"].diff()
            event = torch.repeat_interleave(torch.arange(len(count)), count)
            total = torch.zeros(len(count), hidden.shape[-1]).index_add_(0, event, hidden)
        return torch.nn.functional.normalize(self.event(total / count.clamp(min=1)[:, None]), dim=-1)


def angle(model: Direction, batch: dict[str, Any]) -> torch.Tensor:
    """Mean angle between what is predicted and the truth, in radians: the competition's measure."""
    cosine = (model(batch) * batch["direction"]).sum(-1)
    return torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6)).mean()


torch.manual_seed(0)
parts = events.split({"train": 0.9, "val": 0.1}, seed=0)
options = {"layout": words.layout, "framework": "torch", "shuffle": True}
train, val = (hr.Loader(part.map(with_direction), words.batch_size, **options) for part in parts.values())
model = Direction(words.width)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


def validation_angle() -> float:
    with torch.inference_mode():
        angles = [(len(batch["azimuth"]), angle(model, batch).item()) for batch in val]
    return sum(n * a for n, a in angles) / sum(n for n, _ in angles)


print(f"{len(parts['train']):,} events of {len(events.files)} files; {len(parts['val']):,} held out")
print(f"step 0: validation angle {validation_angle():.3f}")
epochs = itertools.chain.from_iterable(iter(train) for _ in itertools.count())  # each in an order of its own
for batch in itertools.islice(epochs, words.steps):
    loss = angle(model, batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"step {words.steps}: training angle {loss.item():.3f}, validation angle {validation_angle():.3f}")
print(train.report())
