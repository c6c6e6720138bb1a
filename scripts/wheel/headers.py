"""The headers of the Pythons that wheels are for, which need not be installed: Debian's packages have them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from debian import Debian

# Tag of a wheel, Debian's release, and the version whose headers it is built with: a module for the stable ABI of 3.12
# is one for all that came later.
PYTHONS = (("cp312-abi3", "trixie", "3.13"), ("cp311-cp311", "bookworm", "3.11"))
# Debian has no Python 3.10: its headers are those of an interpreter that is found, whose configuration is the same for
# both kinds of processor as far as a module asks for it.
INSTALLED = (("cp310-cp310", "python3.10"),)


def pythons(debian: Path, machine: str) -> dict[str, list[Path]]:
    """Return the folders of Python.h and pyconfig.h by the tag of the wheel."""
    found = {}
    for tag, suite, version in PYTHONS:
        headers = Debian(suite, debian).package(f"libpython{version}-dev", machine) / "usr/include"
        found[tag] = [headers / f"python{version}", headers]
    for tag, program in INSTALLED:
        path = shutil.which(program)
        command = [path, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
        answer = path and subprocess.run(command, capture_output=True, text=True).stdout.strip()
        if answer and (Path(answer) / "Python.h").exists():
            found[tag] = [Path(answer)]
        else:
            print(f"[wheel] no wheel {tag}: there is no {program} with its headers", flush=True)
    return found
