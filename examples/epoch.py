"""Two shuffled epochs with NumPy: how many jets of each class, and where the time went.

epoch.py 'train_*.h5'
"""

import sys

import numpy as np

import headrace as hr

with hr.open(sys.argv[1], fields={"x": "feature_matrix", "y": "labels"}) as jets:
    print(jets)
    loader = hr.Loader(jets, batch_size=512, shuffle=True, seed=7, memory="512MiB")
    for epoch in range(2):
        counts = np.zeros(10, dtype=np.int64)
        for batch in loader:
            counts += np.bincount(batch["y"], minlength=10)
        print(f"epoch {epoch}: {counts.sum()} jets, by class {counts.tolist()}")
    print(loader.report())
