"""HDF5 files that others wrote: every array equals h5py, or is refused with a typed error; none crashes.

They come from the data pack (HEADRACE_SHARED_DATA, or ../shared/data beside the repository) and from Debian packages
that happen to be installed (or are unpacked by dpkg -x into HEADRACE_PACKAGES/<package>); what is absent is skipped by
name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from real_data import LIQUIDO, needed

import headrace as hr

PACKAGES = (
    "python-tables-data",
    "gmt-gshhg-low",
    "poretools-data",
    "python3-nibabel",
    "python3-anndata",
    "libncarg-data",
)
PROGRAM = Path(__file__).with_name("read_real.py")
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        for at in (0, 512, 1024, 2048):
            file.seek(at)
            if file.read(8) == SIGNATURE:
                return True
    return False


def package_files(package: str) -> list[Path]:
    """All files of a Debian package, wherever it is; skips the test if it is nowhere."""
    unpacked = Path(os.environ.get("HEADRACE_PACKAGES", "/nonexistent")) / package
    if unpacked.is_dir():
        paths = [path for path in unpacked.rglob("*") if path.is_file()]
    elif shutil.which("dpkg"):
        listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
        if listed.returncode != 0:
            pytest.skip(f"Debian package {package} is not installed")
        paths = [Path(line) for line in listed.stdout.splitlines() if Path(line).is_file()]
    else:
        pytest.skip(f"no dpkg, so no Debian package {package}")
    return sorted(path for path in paths if os.access(path, os.R_OK))


def read_all(paths: list[Path]) -> list[dict]:
    """What read_real.py found for each file, past files that end its process."""
    found: list[dict] = []
    while len(found) < len(paths):
        todo = paths[len(found) :]
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(PROGRAM), *map(str, todo)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        found += [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]
        if len(found) < len(paths):
            text = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
            found.append({"file": str(paths[len(found)]), "wrong": [text], "counts": {}})
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_package(package: str) -> None:
    files = [path for path in package_files(package) if is_hdf5(path)]
    if not files:
        pytest.skip(f"Debian package {package} has no HDF5 file")
    found = read_all(
        files if package != "poretools-data" else files[::5]
    )  # 69 files of one writer: a share tells as much
    totals: dict[str, int] = {}
    for entry in found:
        for kind, number in entry["counts"].items():
            totals[kind] = totals.get(kind, 0) + number
    print(f"{package}: {len(files)} files, arrays: {totals}")
    for entry in found:
        for path, reason in entry.get("refused", {}).items():
            print(f"  {Path(entry['file']).name} {path}: {reason}")
    wrong = [f"{entry['file']}: {text}" for entry in found for text in entry["wrong"]]
    assert not wrong, "\n".join(wrong)


def test_netcdf3_look_alikes() -> None:
    classic = []
    for path in package_files("libncarg-data"):
        if path.suffix in (".nc", ".cdf"):
            with path.open("rb") as file:
                if file.read(3) == b"CDF":
                    classic.append(path)
    if not classic:
        pytest.skip("Debian package libncarg-data has no netCDF-3 file")
    for path in classic:
        with pytest.raises(hr.UnsupportedError, match="netCDF-3"):
            hr.open(path)


@pytest.fixture
def liquido() -> Path:
    return needed(LIQUIDO)


def test_neutrino_events(liquido: Path) -> None:
    (found,) = read_all([liquido])
    assert not found["wrong"]
    assert found["counts"]["equal"] == 3
    hits = hr.open(liquido, fields=["HitData"])
    assert len(hits) == 121_096
    assert hits.fields["HitData"].shape == (7,)
    assert hits.fields["HitData"].chunks is None
    lengths = np.unique(hits[:]["HitData"][:, 0], return_counts=True)[1]
    assert (len(lengths), lengths.min(), int(np.median(lengths)), lengths.max()) == (100, 78, 1268, 2480)
    sensors = hr.open(liquido, fields=["SiPMIDxyz"])
    assert len(sensors) == 12_860
    assert len(sensors.fields) == 4
    with pytest.raises(hr.InvalidArgumentError, match="HitData"):
        hr.open(liquido)  # three arrays of three lengths
