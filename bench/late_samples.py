#!/usr/bin/env python3
"""Measure loaders of files that answer late. Prints one JSON object.

Usage: late_samples.py jets|rows|events|tokens|crops --ms 5 [--by headrace|tensorstore] [--seconds 8] [--direct]

rows_per_s   samples a second of a fresh loader with default settings in its first epoch, or the first --seconds of it,
             the files cold. They are seen through a mirror (late_mirror.c) that waits --ms before every open and every
             read: with 0 it costs what FUSE costs, which is the base of every ratio. tensorstore: the same crops, five
             batches in flight, as many bytes of cache pool, 32 file operations at once. --direct: the mirror keeps
             nothing in the page cache
above_bytes  peak of the process above what it held before the loader was made and the loader's budget
reading      what report() says of reads ahead of decoding; `mirror`: what the mirror counted
skipped      why nothing was measured: root, /dev/fuse, fusermount3 and libfuse3-dev are needed

The data (2 GB) are made once: jets in gzip HDF5, 200 small Parquet files (rows, and events of 20 rows), a token file,
and a Zarr volume of two arrays in chunks of 64^3.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
import numpy as np

MIB = 1 << 20
BUDGET = {"crops": 512 * MIB}
CROP, CROPS_A_BATCH = 128, 4
READS = 32  # TensorStore's


def missing() -> str:
    """Say what keeps the mirror from being mounted here; empty: nothing."""
    if os.geteuid() != 0:
        return "only root may mount the mirror and empty the page cache"
    if not Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    if shutil.which("fusermount3") is None:
        return "there is no fusermount3 (Debian: fuse3)"
    if subprocess.run(["pkg-config", "--exists", "fuse3"], check=False).returncode != 0:
        return "there is no libfuse3 to build the mirror with (Debian: libfuse3-dev)"
    return ""


def make_data() -> Path:
    """Return the folder of the data, made once."""
    folder = common.data_dir() / "late"
    if (folder / "whole").exists():
        return folder
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pq").mkdir(parents=True)
    random = np.random.default_rng(0)
    headrace = str(Path(sys.executable).parent / "headrace")
    common.quietly([headrace, "demo", "--out", str(folder / "jets"), "--jets", "262144", "--quiet"])
    rows = 20_000
    for i in range(200):
        columns = {
            "event_id": np.repeat(np.arange(rows // 20) + i * rows, 20),
            "t": random.standard_normal(rows),
            "q": random.standard_normal(rows),
            "s": random.integers(0, 5160, rows),
        }
        pq.write_table(pa.table(columns), folder / f"pq/b{i:03}.parquet", row_group_size=5000)
    np.save(folder / "tokens.npy", random.integers(0, 50_000, 200_000_000, dtype=np.uint16))
    write_volume(folder / "vol.zarr", random)
    (folder / "whole").touch()
    return folder


def write_volume(path: Path, random: np.random.Generator) -> None:
    import tensorstore as ts

    metadata: dict[str, Any] = {"shape": [512, 768, 768], "chunks": [64] * 3, "dtype": "|u1"}
    metadata |= {"dimension_separator": "/", "compressor": {"id": "zstd", "level": 3}}
    for name in ("raw", "label"):
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{path}/{name}/s0/"}, "metadata": metadata}
        array = ts.open(spec | {"create": True}).result()
        for z in range(0, 512, 64):
            if name == "raw":
                planes = 128 + np.cumsum(random.standard_normal((64, 768, 768), dtype=np.float32), axis=2)
            else:
                planes = np.kron(random.integers(0, 10, (4, 48, 48)), np.ones((16, 16, 16)))
            array[z : z + 64].write(planes.astype(np.uint8)).result()
    for group in (path, path / "raw", path / "label"):
        (group / ".zgroup").write_text('{"zarr_format": 2}')


@contextlib.contextmanager
def mirror(root: Path, ms: float, direct: bool) -> Iterator[Path]:
    """The folder seen through a mirror that answers `ms` late, while the block runs; nothing of it is in memory."""
    program = Path(tempfile.gettempdir()) / f"headrace_late_mirror_{os.getuid()}"
    source = common.BENCH / "late_mirror.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=False
        )
        common.quietly(["cc", "-O2", str(source), "-o", str(program), *flags.stdout.split()])
    with tempfile.TemporaryDirectory() as mount:
        late = (
            os.environ | {"LATE_READ_MS": str(ms), "LATE_OPEN_MS": str(ms)} | ({"LATE_DIRECT": "1"} if direct else {})
        )
        subprocess.run([program, root, mount], check=True, env=late)
        try:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
            os.getxattr(mount, "user.late")  # counts from here
            yield Path(mount)
        finally:
            subprocess.run(["fusermount3", "-u", "-z", mount], check=False)


def loader_of(kind: str, root: Path, budget: int) -> tuple[Any, int]:
    """Return a loader with default settings, and what the process held before."""
    import headrace as hr

    batch, options = 512, {}
    if kind == "jets":
        data = hr.open(f"{root}/jets/train_*.h5")
    elif kind == "rows":
        data = hr.open(f"{root}/pq/*.parquet")
    elif kind == "events":
        data, options = hr.open(f"{root}/pq/*.parquet", sample_by="event_id"), {"layout": "padded"}
    elif kind == "tokens":
        data = hr.open_tokens(f"{root}/tokens.npy").windows(1024, lookahead=1)
    else:
        volume = hr.open_volume(f"{root}/vol.zarr", arrays={"raw": "raw/s0", "label": "label/s0"})
        data, batch = volume.patches((CROP,) * 3, samples_per_epoch=20_000), CROPS_A_BATCH
    held = resident("VmRSS")
    return hr.Loader(data, batch_size=batch, shuffle=True, seed=0, memory=budget, **options), held


def resident(key: str) -> int:
    return int(common.first_value("/proc/self/status", key).split()[0]) * 1024


def headrace_rate(kind: str, root: Path, seconds: float) -> dict[str, Any]:
    budget = BUDGET.get(kind, 1024 * MIB)
    loader, held = loader_of(kind, root, budget)
    started, samples = time.perf_counter(), 0
    for _ in loader:
        samples += loader.batch_size
        if time.perf_counter() - started > seconds:
            break
    taken = time.perf_counter() - started
    above = resident("VmHWM") - held - budget
    return {"rows_per_s": samples / taken, "above_bytes": above, "reading": loader.report().to_dict().get("reading")}


def tensorstore_rate(root: Path, seconds: float) -> dict[str, Any]:
    import tensorstore as ts

    limits = {"cache_pool": {"total_bytes_limit": BUDGET["crops"]}, "file_io_concurrency": {"limit": READS}}
    context, random = ts.Context(limits), np.random.default_rng(1)
    stores = [{"driver": "file", "path": f"{root}/vol.zarr/{name}/s0/"} for name in ("raw", "label")]
    arrays = [
        ts.open({"driver": "zarr", "kvstore": s}, context=context, read=True, recheck_cached_data=False).result()
        for s in stores
    ]
    flying: list[tuple[list[Any], list[Any]]] = []
    started, samples = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        while len(flying) < 5:
            out = [np.empty((CROPS_A_BATCH, *(CROP,) * 3), np.uint8) for _ in arrays]
            jobs = []
            for j in range(CROPS_A_BATCH):
                at = tuple(slice(p, p + CROP) for p in (int(random.integers(0, s - CROP + 1)) for s in arrays[0].shape))
                jobs += [ts.array(o[j]).write(array[at]) for array, o in zip(arrays, out, strict=True)]
            flying.append((out, jobs))
        for job in flying.pop(0)[1]:
            job.result()
        samples += CROPS_A_BATCH
    return {"rows_per_s": samples / (time.perf_counter() - started)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["jets", "rows", "events", "tokens", "crops"])
    parser.add_argument("--ms", type=float, required=True)
    parser.add_argument("--by", choices=["headrace", "tensorstore"], default="headrace")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--direct", action="store_true")
    args = parser.parse_args()
    if why := missing():
        print(json.dumps({"skipped": why}))
        return
    with mirror(make_data(), args.ms, args.direct) as root:
        if args.by == "headrace":
            result = headrace_rate(args.kind, root, args.seconds)
        else:
            result = tensorstore_rate(root, args.seconds)
        result["mirror"] = os.getxattr(root, "user.late").decode()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
