"""Builds wheels with everything inside, for machines that are older than this one, and for other processors.

`make wheel` runs this; WHEEL_ARGS="--machine aarch64" builds for ARM. Only build/wheel and wheelhouse/ are written.
docs/internals/wheels.md says what was tried where.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from debian import KEYS
from headers import pythons
from libraries import LIBRARIES, build, licence
from pack import ROOT, pack, run
from zig import licences_of_zig, write_toolchain

# Archives do not say what they need themselves: this is what those of c-blosc and libhdf5 do.
NEEDED_BY_ARCHIVES = "-lsz -laec -lz -lzstd -llz4 -lsnappy -ldl -lm"


def main() -> None:
    """Build the libraries, then Headrace with each Python's headers, and pack each as a wheel."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--machine", default=platform.machine(), choices=["x86_64", "aarch64"])
    machine = arguments.parse_args().machine
    for program, package in (("dpkg-source", "dpkg-dev"), ("ninja", "ninja-build"), ("pkg-config", "pkg-config")):
        if not shutil.which(program):
            raise SystemExit(f"{program} is missing, which this needs: apt-get install {package}.")
    if not KEYS.exists():
        raise SystemExit("Wheels are built on Debian, whose keys and sources they need: use packaging/Containerfile.")

    debian, folder = ROOT / "build/wheel/debian", ROOT / "build/wheel" / machine
    prefix = folder / "prefix"
    toolchain = write_toolchain(machine, folder, prefix)
    licences = licences_of_zig()
    for library in LIBRARIES:
        version = build(library, machine, debian, toolchain, folder / "libraries", prefix)
        licences[f"{library.package}-{version.replace(':', '_')}"] = licence(library, machine, debian)
    stub = ROOT / "build/wheel/_headrace.pyi"
    for tag, headers in sorted(pythons(debian, machine).items(), key=lambda item: not fits_here(item[0])):
        print(f"[wheel] building {tag} for {machine}", flush=True)
        built = build_headrace(toolchain, prefix, headers, folder / "headrace")
        if machine == platform.machine() and fits_here(tag):
            write_stub(built / "python", stub)
        elif not stub.exists():
            raise SystemExit("The wheel for this machine comes first: the types of the module are written with it.")
        pack(built, stub, tag, machine, licences, folder / tag)
    for path in sorted((ROOT / "wheelhouse").glob("*.whl")):
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path.name}")


def build_headrace(toolchain: Path, prefix: Path, headers: list[Path], folder: Path) -> Path:
    """Build the command line and the module for the Python of `headers`, and return the folder of the build."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_STANDARD_LIBRARIES": f"-L{prefix}/lib {NEEDED_BY_ARCHIVES}",
        "CMAKE_EXE_LINKER_FLAGS": "-s",
        "CMAKE_MODULE_LINKER_FLAGS": "-s",
        "CMAKE_TOOLCHAIN_FILE": toolchain,
        "HDF5_ROOT": prefix,
        "HEADRACE_BUILD_PYTHON": "ON",
        "HEADRACE_BUILD_SHARED": "OFF",
        "HEADRACE_BUILD_TESTS": "OFF",
        "HEADRACE_PYTHON_HEADERS": ";".join(map(str, headers)),
        "HEADRACE_UNITY": "8",
        "Python_EXECUTABLE": sys.executable,
    }
    log = folder.with_suffix(".log")
    environment = os.environ | {"CCACHE_BASEDIR": str(ROOT)}
    commands = (
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *(f"-D{name}={value}" for name, value in options.items())],
        ["cmake", "--build", folder, "--target", "headrace_cli", "_headrace"],
    )
    for command in commands:
        with log.open("w") as out:
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=environment).returncode != 0:
                out.flush()
                lines = log.read_text().splitlines()
                errors = [line for line in lines if "error" in line.lower()][:20]
                raise SystemExit("\n".join([*(errors or lines[-20:]), f"The build failed; all of it: {log}"]))
    return folder


def fits_here(tag: str) -> bool:
    """Return whether this interpreter imports a module of a wheel with this tag."""
    python, abi = tag.split("-")
    version = int(python.removeprefix("cp3"))
    return version <= sys.version_info.minor if abi == "abi3" else version == sys.version_info.minor


def write_stub(module: Path, stub: Path) -> None:
    """Write the types of the module, as the build of the library does (python/CMakeLists.txt)."""
    plain = stub.with_suffix(".written")
    run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "_headrace", "-i", module, "-o", plain])
    run([sys.executable, ROOT / "python/bind/option_types.py", plain, stub])


if __name__ == "__main__":
    try:
        main()
    except LookupError as error:
        raise SystemExit(f"[wheel] {error}; what was fetched is kept in build/wheel/debian.") from None
    except subprocess.CalledProcessError as error:
        command = Path(error.cmd[0]).name
        raise SystemExit(
            f"[wheel] {command} failed, with what it says above. Is there a network, and does /etc/apt name a mirror "
            "that can be reached? Nothing outside build/wheel was changed."
        ) from None
