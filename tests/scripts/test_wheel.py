"""The scripts that build wheels, as far as they can be tested without building one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import debian as debian_module
import pytest
import zig
from debian import compare_versions, mirror
from libraries import LIBRARIES
from sysroot import make_links_relative

pytestmark = pytest.mark.fast
ROOT = Path(__file__).resolve().parents[2]

# Debian's library packages, as set-up names them, by the source package that they come from.
SOURCES = {
    "libhdf5-dev": "hdf5", "libdeflate-dev": "libdeflate", "libzstd-dev": "libzstd", "liblz4-dev": "lz4",
    "libblosc-dev": "c-blosc", "libhwy-dev": "highway", "libfmt-dev": "fmtlib", "libcli11-dev": "cli11",
    "libyaml-cpp-dev": "yaml-cpp", "nlohmann-json3-dev": "nlohmann-json3", "zlib1g-dev": "zlib", "libbz2-dev": "bzip2",
    "libaec-dev": "libaec", "libsnappy-dev": "snappy", "libsimdjson-dev": "simdjson",
}  # fmt: skip
FOR_TESTS = {"libgtest-dev", "librapidcheck-dev"}


def test_a_wheel_has_every_library_that_set_up_installs() -> None:
    """A dependency that is added to one of them would be missed in the other when it is too late."""
    text = (ROOT / "scripts/setup_system.sh").read_text(encoding="utf-8")
    packages = re.search(r"^packages=\(([^)]*)\)", text, re.MULTILINE)[1].split()
    wanted = {package for package in packages if package.endswith("-dev")}
    assert wanted == set(SOURCES)
    assert {library.package for library in LIBRARIES} == set(SOURCES.values())
    text = (ROOT / "scripts/test_aarch64.sh").read_text(encoding="utf-8")
    assert set(re.search(r"^libraries=\(([^)]*)\)", text, re.MULTILINE)[1].split()) == set(SOURCES) | FOR_TESTS


def test_the_recipe_for_conda_asks_for_what_the_environment_does() -> None:
    """Two lists of the same libraries."""

    def names(path: str, start: str, end: str) -> set[str]:
        lines = (ROOT / path).read_text(encoding="utf-8").split(start)[1].split(end)[0].splitlines()
        return {line.strip()[2:] for line in lines if line.strip().startswith("- ")}

    environment = names("environment.yml", "# libraries\n", "# tests\n")
    host = names("packaging/recipe.yaml", "  host:\n", "  run:\n")
    assert environment == host - {"python", "pip", "scikit-build-core >=1.0", "nanobind >=3.0"}


@pytest.mark.parametrize(
    ("name", "text", "address"),
    [
        ("sources.list.d/debian.sources", "Types: deb\nURIs: http://one/debian\nSuites: a\n", "http://one/debian"),
        ("sources.list", "# deb http://no a main\ndeb [arch=amd64] http://two/debian a main\n", "http://two/debian"),
        ("sources.list", "deb http://three/debian a main\n", "http://three/debian"),
    ],
)
def test_the_mirror_is_that_of_this_machine(
    name: str, text: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    monkeypatch.setattr(debian_module, "SETTINGS", tmp_path)
    assert mirror() == address


def test_without_a_mirror_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian_module, "SETTINGS", tmp_path)
    with pytest.raises(SystemExit, match="No mirror of Debian"):
        mirror()


def test_the_newer_of_two_versions() -> None:
    assert compare_versions("1.3.1-1+deb13u1", "1.3.1-1") == 1
    assert compare_versions("9", "10") == -1


def test_the_toolchain_is_written_anew_only_where_it_changed(tmp_path: Path) -> None:
    """What is newer than its results is built again: all libraries, then."""
    path = tmp_path / "file"
    zig.write(path, "text")
    before = path.stat().st_mtime_ns
    zig.write(path, "text")
    assert path.stat().st_mtime_ns == before
    zig.write(path, "other")
    assert path.read_text() == "other"


def test_links_of_a_sysroot_lead_into_it(tmp_path: Path) -> None:
    """Otherwise a library of this machine would be linked with programs for another."""
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libz.so.1").write_text("z")
    (tmp_path / "usr/lib/libz.so").symlink_to("/lib/libz.so.1")
    (tmp_path / "usr/lib/near.so").symlink_to("libz.so")
    (tmp_path / "usr/folder").symlink_to("/usr/lib")
    make_links_relative(tmp_path)
    assert (tmp_path / "usr/lib/libz.so").readlink() == Path("../../lib/libz.so.1")
    assert (tmp_path / "usr/lib/near.so").readlink() == Path("libz.so")
    assert (tmp_path / "usr/folder/near.so").read_text() == "z"


def test_without_a_network_it_says_so(tmp_path: Path) -> None:
    """Nobody answers where apt is sent to; nothing of the tree is touched."""
    if not shutil.which("apt-get") or not debian_module.KEYS.exists():
        pytest.skip("wheels are built on Debian")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("dpkg-source", "ninja", "pkg-config"):
        (programs / name).touch(mode=0o755)
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "scripts/wheel", tree / "scripts/wheel", ignore=shutil.ignore_patterns("__pycache__"))
    sources = tmp_path / "apt"
    sources.mkdir()
    (sources / "sources.list").write_text("deb http://127.0.0.1:9/debian trixie main\n")
    program = f"""
import runpy, sys
from pathlib import Path
sys.path.insert(0, {str(tree / "scripts/wheel")!r})
import debian, zig
debian.SETTINGS = Path({str(sources)!r})
zig.folder_of_zig = lambda: Path("/nowhere")
zig.importlib.metadata.version = lambda name: "0"
sys.argv = ["wheel"]
runpy.run_path({str(tree / "scripts/wheel/__main__.py")!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"})  # fmt: skip
    assert done.returncode == 1
    assert "failed, with what it says above" in done.stderr
    assert "Is there a network" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tree.iterdir()} == {"scripts", "build"}


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        ([], {}, "Name the folder"),
        (["/nowhere"], {}, "Name the folder"),
        (["--help"], {}, "Name the folder"),
        (["EMPTY"], {}, "has no wheels"),
        (["FULL"], {"TORCH": "latest"}, "TORCH is oldest, newest or both"),
        (["FULL"], {"PYTHONS": "python3.99"}, "PYTHONS names python3.99"),
    ],
)
def test_wheels_are_not_tried_by_halves(
    tmp_path: Path, words: list[str], environment: dict[str, str], said: str
) -> None:
    for name in ("EMPTY", "FULL"):
        (tmp_path / name).mkdir()
    (tmp_path / "FULL" / "headrace-0-py3-none-any.whl").touch()
    words = [str(tmp_path / word) if word.isupper() else word for word in words]
    done = subprocess.run(
        [ROOT / "scripts/wheel/try_installed.sh", *words], capture_output=True, text=True, env=os.environ | environment
    )
    assert (done.returncode, said in done.stderr.splitlines()[0]) == (2, True), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a bare system")
def test_a_bare_root_is_one_that_the_script_made(tmp_path: Path) -> None:
    """Root deletes it, and runs what is in it."""
    full, foreign, link = tmp_path / "full", tmp_path / "foreign", tmp_path / "link"
    full.mkdir()
    (full / "file").touch()
    foreign.mkdir()
    (foreign / ".ready").touch()
    os.chown(foreign, 65534, 65534)
    link.symlink_to(full)
    for root, said in [
        (full, "is not empty"),
        (foreign, "root's own"),
        (link, "root's own"),
        (Path("a"), "begin with /"),
    ]:
        done = subprocess.run(
            [ROOT / "scripts/bare_machine.sh", "true"],
            capture_output=True,
            text=True,
            env=os.environ | {"BARE_ROOT": str(root)},
        )
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert (full / "file").exists()
