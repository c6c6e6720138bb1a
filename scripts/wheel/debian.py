"""Sources of libraries and headers of Python, from the Debian mirror that this machine is set up for.

Nothing is installed and no setting of the system is changed: apt works in a folder of its own, and checks all that it
fetches against Debian's keys. What was fetched once is not fetched again, so that a second build needs no network.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

SETTINGS = Path("/etc/apt")
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Debian:
    """One release of Debian, such as "trixie", read into a folder."""

    def __init__(self, suite: str, folder: Path) -> None:
        """Remember what to read and where to; nothing is fetched yet."""
        self.suite, self.folder = suite, folder / suite
        self._updated = False

    def source(self, package: str) -> Path:
        """Return the unpacked, patched sources of a source package, fetched where they are not there."""
        target = self.folder / "sources" / package
        if not target.exists():
            fetched = self.folder / "fetched" / package
            if not list(fetched.glob("*.dsc")):
                self._fetch_source(package, fetched)
            (description,) = fetched.glob("*.dsc")
            unpacked = target.with_suffix(".part")
            shutil.rmtree(unpacked, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-source", "-q", "-x", description, unpacked], check=True, stdout=subprocess.DEVNULL)
            unpacked.rename(target)
        return target

    def version(self, package: str) -> str:
        """Return the version of the sources that source() returned."""
        (description,) = (self.folder / "fetched" / package).glob("*.dsc")
        return re.search(r"^Version: (.+)$", description.read_text(), re.MULTILINE)[1]

    def package(self, package: str, machine: str) -> Path:
        """Return the folder with the files of a binary package for `machine`, such as "aarch64"."""
        target = self.folder / "packages" / machine / package
        if not target.exists():
            fetched = self.folder / "fetched" / machine / package
            if not list(fetched.glob("*.deb")):
                self._apt("download", f"{package}:{ARCHITECTURES[machine]}", folder=fetched)
            (archive,) = fetched.glob("*.deb")
            unpacked = target.with_suffix(".part")
            shutil.rmtree(unpacked, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
            unpacked.rename(target)
        return target

    def archives(self, packages: list[str], machine: str) -> list[Path]:
        """Return the archives of binary packages for `machine`, and of all that they depend on, the C library too."""
        folder = self.folder / "fetched" / machine / "together"
        # As on a machine of that kind with nothing installed, so that all is fetched. The folder may hold more, from an
        # earlier list.
        settings = {
            "APT::Architecture": ARCHITECTURES[machine],
            "APT::Architectures": ARCHITECTURES[machine],
            "APT::Install-Recommends": "false",
            "Dir::Cache::archives": folder.resolve(),
        }
        options = [argument for name, value in settings.items() for argument in ("-o", f"{name}={value}")]
        (folder / "partial").mkdir(parents=True, exist_ok=True)
        self._apt("install", "--yes", "--download-only", *options, *packages, folder=folder)
        listed = subprocess.run(["apt-get", *self._options(), *options, "--simulate", "install", *packages],
                                check=True, capture_output=True, text=True).stdout  # fmt: skip
        wanted = re.findall(r"^Inst (\S+) \((\S+) .*\[(\S+)\]\)", listed, re.MULTILINE)
        return [folder / f"{name}_{version.replace(':', '%3a')}_{kind}.deb" for name, version, kind in wanted]

    def _fetch_source(self, package: str, folder: Path) -> None:
        """Fetch the newest version that the mirror has; it may list one which has not arrived yet."""
        self._apt("clean", folder=folder)
        listed = subprocess.run(["apt-cache", *self._options(), "showsrc", "--only-source", package],
                                check=True, capture_output=True, text=True).stdout  # fmt: skip
        versions = re.findall(r"^Version: (.+)$", listed, re.MULTILINE)
        versions.sort(key=functools.cmp_to_key(compare_versions), reverse=True)
        for version in versions:
            try:
                return self._apt("source", "--download-only", f"{package}={version}", folder=folder)
            except subprocess.CalledProcessError:
                print(f"[wheel] the mirror lists {package} {version}, and does not have it", flush=True)
                shutil.rmtree(folder)
        raise LookupError(f"the sources of {package} could not be fetched from {mirror()} {self.suite}")

    def _apt(self, *command: str, folder: Path) -> None:
        if not self._updated:
            self._update()
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", *self._options(), *command], cwd=folder, check=True)

    def _update(self) -> None:
        state = self.folder / "apt"
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        about = f"[signed-by={KEYS} arch={','.join(ARCHITECTURES.values())}] {mirror()} {self.suite} main"
        (state / "sources.list").write_text(f"deb {about}\ndeb-src {about}\n")
        self._updated = True
        subprocess.run(["apt-get", "-qq", *self._options(), "update"], check=True)

    def _options(self) -> list[str]:
        state = self.folder.resolve() / "apt"
        settings = {
            "APT::Architecture": "amd64",
            "APT::Architectures::": "arm64",
            "APT::Sandbox::User": "root",
            "Dir::Cache": state / "cache",
            "Dir::Etc::SourceList": state / "sources.list",
            "Dir::Etc::SourceParts": "-",
            "Dir::State::Lists": state / "lists",
            "Dir::State::status": state / "status",
        }
        return [argument for name, value in settings.items() for argument in ("-o", f"{name}={value}")]


def compare_versions(one: str, other: str) -> int:
    """Return which of two versions of Debian packages is newer: 1, 0 or -1."""
    for answer, relation in ((1, "gt"), (-1, "lt")):
        if subprocess.run(["dpkg", "--compare-versions", one, relation, other]).returncode == 0:
            return answer
    return 0


def mirror() -> str:
    """Return the address that this machine's own settings of apt name."""
    for path in [*sorted((SETTINGS / "sources.list.d").glob("*")), SETTINGS / "sources.list"]:
        text = path.read_text() if path.is_file() else ""
        if found := re.search(r"^(?:URIs: *|deb (?:\[.*?\] *)?)(\S+)", text, re.MULTILINE):
            return found[1]
    raise SystemExit("No mirror of Debian is named in /etc/apt: the sources of the libraries cannot be fetched.")
