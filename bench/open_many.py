"""How long a data set of many small files takes to open: the first time, from the index store, and with h5py.

python bench/open_many.py [--files 660] [--rounds 7]

Files are made once in bench_data/many. Each figure is the median over processes of their own that take turns; imports
are not counted, the files are in the page cache. "h5py" opens every file, looks at shape, dtype and chunks of every
dataset, and keeps the file open, as a reader of them would have to.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

HEADRACE = """
import json, sys, time
import headrace as hr
start = time.perf_counter()
data = hr.open(sys.argv[1])
seconds = time.perf_counter() - start
start = time.perf_counter()
data[0:1]
print(json.dumps({"seconds": seconds, "first_row": time.perf_counter() - start, "rows": len(data)}))
"""

H5PY = """
import glob, json, sys, time
import h5py
start = time.perf_counter()
files, rows = [], 0
for path in sorted(glob.glob(sys.argv[1])):
    file = h5py.File(path, "r")
    files.append(file)
    known = {name: (item.shape, item.dtype, item.chunks) for name, item in file.items()}
    rows += known["x"][0][0]
print(json.dumps({"seconds": time.perf_counter() - start, "rows": rows}))
"""


def make_files(folder: Path, count: int) -> None:
    import h5py
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for i in range(count):
        path = folder / f"part_{i:04}.h5"
        if path.exists():
            continue
        with h5py.File(path, "w") as file:
            x = random.normal(size=(200, 16)).astype(np.float32)
            file.create_dataset("x", data=x, chunks=(50, 16), compression="gzip").attrs["unit"] = "GeV"
            file.create_dataset("adj", data=x[:, :4], chunks=(50, 4), compression="gzip", shuffle=True)
            file.create_dataset("y", data=np.arange(200))
            file.attrs["run"] = i
        old = time.time() - 60  # what was written just now is not indexed yet
        os.utime(path, (old, old))


def timed(code: str, pattern: str, store: str) -> dict[str, float]:
    env = {**os.environ, "HEADRACE_CACHE": store}
    done = subprocess.run([sys.executable, "-c", code, pattern], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=660)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    folder = common.data_dir() / f"many_{options.files}"
    make_files(folder, options.files)
    pattern = str(folder / "part_*.h5")
    seconds: dict[str, list[float]] = {name: [] for name in ("first", "second", "off", "h5py", "second, first row")}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as store:
            seconds["off"].append(timed(HEADRACE, pattern, "off")["seconds"])
            first = timed(HEADRACE, pattern, store)
            second = timed(HEADRACE, pattern, store)
            h5py = timed(H5PY, pattern, store)
            if not first["rows"] == second["rows"] == h5py["rows"]:
                raise SystemExit("they disagree about the number of rows")
            seconds["first"].append(first["seconds"])
            seconds["second"].append(second["seconds"])
            seconds["second, first row"].append(second["first_row"])
            seconds["h5py"].append(h5py["seconds"])
            size = sum(f.stat().st_size for f in Path(store).rglob("*") if f.is_file())
    result = {name: round(statistics.median(values), 4) for name, values in seconds.items()}
    print(json.dumps({"files": options.files, "rounds": options.rounds, "index_bytes": size, "median_seconds": result}))


if __name__ == "__main__":
    main()
