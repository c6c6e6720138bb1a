"""A small network that learns to tell jets apart: Headrace in an ordinary PyTorch loop.

torch_training.py 'train_*.h5' [DEVICE]
"""

import sys

import torch

import headrace as hr

device = sys.argv[2] if len(sys.argv) > 2 else "cuda" if torch.cuda.is_available() else "cpu"
jets = hr.open(sys.argv[1], fields={"x": "feature_matrix", "y": "labels"})
loader = hr.Loader(
    jets, batch_size=256, shuffle=True, seed=7, memory="512MiB", drop_last=True, framework="torch", device=device
)
particles, features = jets.fields["x"].shape
model = torch.nn.Sequential(torch.nn.Linear(features, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
model.to("cpu" if device == "fake" else device)  # "fake": as if there were a device, in the host's memory
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    total = 0.0
    for batch in loader:  # on the device already
        scores = model(batch["x"]).mean(dim=1)  # (batch, particles, 10) -> (batch, 10)
        loss = torch.nn.functional.cross_entropy(scores, batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: mean loss {total / len(loader):.3f} over {len(loader)} batches")
print(loader.report())
