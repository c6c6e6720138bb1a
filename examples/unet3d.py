"""Segmentation of volumes by a small 3-D U-Net, trained on patches out of OME-Zarr or HDF5, in plain PyTorch.

unet3d.py FOLDER [--raw em/s0] [--label labels/mito/s0] [--patch 64] [--batch-size 4] [--steps 500]

FOLDER has volumes named crop_*.zarr (or crop_*.h5), each with an array of grey values and one of labels of the same
shape, 0 for the background. The last of them is held out: patches of it are predicted on a grid, and put together.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

import headrace as hr
from headrace import transforms as T

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=Path)
parser.add_argument("--raw", default="em/s0", help="path of the grey values in each volume")
parser.add_argument("--label", default="labels/mito/s0", help="path of the labels in each volume")
for name, number in (("patch", 64), ("batch-size", 4), ("steps", 500), ("width", 16)):
    parser.add_argument(f"--{name}", type=int, default=number)
parser.add_argument("--memory", default=None, help="memory of the training loader, for example 8GiB")
words = parser.parse_args()

files = sorted(path for ending in ("zarr", "h5") for path in words.folder.glob(f"crop_*.{ending}"))
if len(files) < 2:
    parser.error(
        f"{words.folder} has {len(files)} volumes named crop_*.zarr or crop_*.h5; one to train on and one more"
    )
arrays = {"raw": words.raw, "label": words.label}
patch = (words.patch,) * 3
train = hr.open_volume(files[:-1], arrays).patches(patch, samples_per_epoch=max(words.steps * words.batch_size, 1))
# The bytes of a voxel stay one on their way to the device: the network makes floats of them there.
train = train.map(T.Mirror(), T.Rotate90())
held_out = hr.open_volume(files[-1], arrays)
grid = held_out.patches(patch, stride=patch)


class UNet(torch.nn.Module):
    """Two levels of convolutions, with the finer one passed by."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = self.block(1, width)
        self.bottom = self.block(width, 2 * width)
        self.up = self.block(3 * width, width)
        self.head = torch.nn.Conv3d(width, 1, 1)

    @staticmethod
    def block(inside: int, outside: int) -> torch.nn.Module:
        steps = []
        for channels in (inside, outside):
            steps += [torch.nn.Conv3d(channels, outside, 3, padding=1), torch.nn.GroupNorm(4, outside), torch.nn.GELU()]
        return torch.nn.Sequential(*steps)

    def forward(self, raw: torch.Tensor) -> torch.Tensor:
        fine = self.down(raw[:, None].float() / 255 - 0.5)
        coarse = self.bottom(functional.max_pool3d(fine, 2))
        coarse = functional.interpolate(coarse, size=fine.shape[2:])
        return self.head(self.up(torch.cat([fine, coarse], 1)))[:, 0]


def overlap(model: UNet) -> float:
    """Intersection over union of what is predicted in the volume that was held out, and its labels."""
    predicted = np.zeros(held_out.shapes[0], bool)
    truth = np.zeros(held_out.shapes[0], bool)
    with torch.inference_mode():
        for batch in hr.Loader(grid, words.batch_size, framework="torch", provenance=True):
            for start, one, label in zip(
                batch["_start"].tolist(), model(batch["raw"]) > 0, batch["label"], strict=True
            ):
                box = tuple(slice(begin, begin + words.patch) for begin in start)
                predicted[box], truth[box] = one.numpy(), label.numpy() != 0
    return float((predicted & truth).sum() / max((predicted | truth).sum(), 1))


torch.manual_seed(0)
model = UNet(words.width)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
loader = hr.Loader(train, words.batch_size, framework="torch", memory=words.memory, seed=0)
print(f"{len(files) - 1} volumes to train on, {len(grid)} patches of {files[-1].name} held out")
for batch in itertools.islice(loader, words.steps):
    loss = functional.binary_cross_entropy_with_logits(model(batch["raw"]), (batch["label"] != 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"step {words.steps}: loss {loss.item():.3f}, overlap {overlap(model):.3f}")
print(loader.report())
