"""Makes a folder with Debian's packages for another processor, to compile against and to run programs with.

usage: sysroot.py FOLDER MACHINE SUITE PACKAGE...      for example build/aarch64_sysroot aarch64 bookworm zlib1g-dev

Nothing is installed: packages are unpacked, with all that they depend on, and no script of theirs runs. A folder that
was made of the same list is left as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from debian import Debian

MADE_OF = "made_of.txt"


def make_sysroot(folder: Path, archives: list[Path], made_of: str) -> None:
    """Unpack packages into `folder`, which appears when it is whole."""
    unpacked = folder.with_suffix(".part")
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    for archive in archives:
        subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
    make_links_relative(unpacked)
    (unpacked / MADE_OF).write_text(made_of)
    shutil.rmtree(folder, ignore_errors=True)
    unpacked.rename(folder)


def make_links_relative(folder: Path) -> None:
    """Let links that are absolute lead to files of the folder, rather than to those of this machine."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent) / name for name in [*folders, *files]):
            if path.is_symlink() and (target := path.readlink()).is_absolute():
                path.unlink()
                path.symlink_to(os.path.relpath(folder / target.relative_to("/"), parent))


def main() -> None:
    """Make the folder where it is not there, or was made of other packages."""
    if len(sys.argv) < 5:
        raise SystemExit(__doc__.split("\n\n")[1])
    folder, machine, suite, packages = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    made_of = " ".join([suite, machine, *sorted(packages)]) + "\n"
    known = folder / MADE_OF
    if known.exists() and known.read_text() == made_of:
        return
    print(f"[sysroot] fetching {len(packages)} packages, and what they depend on, for {machine}", flush=True)
    archives = Debian(suite, folder.with_name("debian")).archives(packages, machine)
    make_sysroot(folder, archives, made_of)
    print(f"[sysroot] {folder} has the files of {len(archives)} packages", flush=True)


if __name__ == "__main__":
    main()
