"""The libraries that a wheel has inside: where their sources are, and how they are built as archives."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from debian import Debian


@dataclass(frozen=True)
class Library:
    """A library by the name of Debian's source package, and the release of Debian whose version is taken."""

    package: str
    suite: str = "trixie"
    _: KW_ONLY
    folder: str = "."  # of its CMakeLists.txt
    options: dict[str, str] = field(default_factory=dict)
    commands: str = ""  # of the shell, in a copy of the sources, for one that has no CMakeLists.txt of use
    headers: str = ""  # a folder of headers that its own installation leaves out with what would be compiled
    archives: str = ""  # the package that has it as Debian built it, in place of the sources


OFF, ON = "OFF", "ON"
# In the order of building: c-blosc and hdf5 need those before them. Of Debian 13, where its mirrors have the sources.
LIBRARIES = (
    Library("zlib", commands="./configure --static --prefix=$PREFIX && make libz.a && make install"),
    Library("libdeflate", "bookworm", commands="make libdeflate.a && install -Dt $PREFIX/lib -m 644 libdeflate.a && "
            "install -Dt $PREFIX/include -m 644 libdeflate.h && mkdir -p $PREFIX/lib/pkgconfig && "
            "sed 's|@PREFIX@|'$PREFIX'|; s|@INCDIR@|${prefix}/include|; s|@LIBDIR@|${prefix}/lib|; s|@VERSION@|1.14|' "
            "libdeflate.pc.in >$PREFIX/lib/pkgconfig/libdeflate.pc"),
    Library("libzstd", folder="build/cmake",
            options={"ZSTD_BUILD_SHARED": OFF, "ZSTD_BUILD_PROGRAMS": OFF, "ZSTD_LEGACY_SUPPORT": OFF}),
    Library("lz4", "bookworm", folder="build/cmake",
            options={"BUILD_STATIC_LIBS": ON, "LZ4_BUILD_CLI": OFF, "LZ4_BUILD_LEGACY_LZ4C": OFF}),
    Library("bzip2", commands='make libbz2.a CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="$CFLAGS $LARGE_FILES" && '
            "install -Dt $PREFIX/lib -m 644 libbz2.a && install -Dt $PREFIX/include -m 644 bzlib.h"),
    Library("libaec", "bookworm", archives="libaec-dev"),
    Library("snappy", "bookworm",
            options={"BUILD_SHARED_LIBS": ON, "SNAPPY_BUILD_TESTS": OFF, "SNAPPY_BUILD_BENCHMARKS": OFF}),  # both, then
    Library("c-blosc", "bookworm", options={
        "BUILD_SHARED": OFF, "BUILD_TESTS": OFF, "BUILD_BENCHMARKS": OFF, "BUILD_FUZZERS": OFF,
        "DEACTIVATE_SNAPPY": OFF,
        "PREFER_EXTERNAL_LZ4": ON, "PREFER_EXTERNAL_SNAPPY": ON, "PREFER_EXTERNAL_ZLIB": ON, "PREFER_EXTERNAL_ZSTD": ON,
    }),
    Library("highway", headers="hwy/contrib",
            options={"HWY_ENABLE_TESTS": OFF, "HWY_ENABLE_EXAMPLES": OFF, "HWY_ENABLE_CONTRIB": OFF}),
    Library("fmtlib", options={"FMT_TEST": OFF, "FMT_DOC": OFF}),
    Library("cli11", "bookworm",
            options={"CLI11_BUILD_TESTS": OFF, "CLI11_BUILD_EXAMPLES": OFF, "CLI11_BUILD_DOCS": OFF}),
    Library("yaml-cpp", options={"YAML_CPP_BUILD_TESTS": OFF, "YAML_CPP_BUILD_TOOLS": OFF}),
    Library("nlohmann-json3", "bookworm", options={"JSON_BuildTests": OFF}),
    Library("simdjson", "bookworm"),
    Library("hdf5", options={
        "BUILD_TESTING": OFF, "HDF5_BUILD_CPP_LIB": OFF, "HDF5_BUILD_EXAMPLES": OFF, "HDF5_BUILD_FORTRAN": OFF,
        "HDF5_BUILD_HL_LIB": OFF, "HDF5_BUILD_TOOLS": OFF, "HDF5_ENABLE_SZIP_SUPPORT": ON,
        "HDF5_ENABLE_THREADSAFE": ON, "HDF5_ENABLE_Z_LIB_SUPPORT": ON,
    }),
)  # fmt: skip


def build(library: Library, machine: str, debian: Path, toolchain: Path, folder: Path, prefix: Path) -> str:
    """Build a library with a toolchain below `folder`, install it into `prefix`, and return its version.

    What is fetched lies in the folder `debian`. What is there in that version, built with the same options by the same
    compiler, is left as it is.
    """
    if library.archives:
        package = Debian(library.suite, debian).package(library.archives, machine)
        return _take_archives(package, prefix)
    suite = Debian(library.suite, debian)
    source, version = suite.source(library.package), suite.version(library.package)
    stamp = prefix / "stamps" / library.package
    made_of = f"{version}\n{library}\n{toolchain.read_text()}{(toolchain.parent / 'tools/cc').read_text()}"
    if not stamp.exists() or stamp.read_text() != made_of:
        print(f"[wheel] building {library.package} {version}", flush=True)
        log = folder / f"{library.package}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            try:
                if library.commands:
                    _run_commands(library, source, toolchain.parent / "tools", folder / library.package, prefix, out)
                else:
                    _build_cmake(library, source, toolchain, folder / library.package, prefix, out)
            except subprocess.CalledProcessError:
                said = [*log.read_text().splitlines()[-25:], f"{library.package} could not be built; all of it: {log}"]
                raise SystemExit("\n".join(said)) from None
        for header in (source / library.headers).rglob("*.h") if library.headers else ():
            target = prefix / "include" / header.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, target)
        for shared in (prefix / "lib").glob("*.so*"):
            shared.unlink()  # some projects build it whatever they are told
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(made_of)
    return version


def licence(library: Library, machine: str, debian: Path) -> Path:
    """Return the file with the licence of a library that build() has built."""
    suite = Debian(library.suite, debian)
    if library.archives:
        return suite.package(library.archives, machine) / "usr/share/doc" / library.archives / "copyright"
    return suite.source(library.package) / "debian/copyright"


def _take_archives(package: Path, prefix: Path) -> str:
    """Copy the headers and archives of a C library that needs no newer C library: the linker would refuse it."""
    for pattern, target in (("usr/include/*.h", "include"), ("usr/lib/*/*.a", "lib")):
        for path in package.glob(pattern):
            (prefix / target).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, prefix / target / path.name)
    (changelog,) = package.glob("usr/share/doc/*/changelog.Debian.gz")
    return re.search(r"\((\S+)\)", gzip.decompress(changelog.read_bytes()).decode())[1]


def _build_cmake(library: Library, source: Path, toolchain: Path, folder: Path, prefix: Path, out) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_LIBDIR": "lib",
        "CMAKE_INSTALL_PREFIX": prefix,
        "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
        "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
        "CMAKE_TOOLCHAIN_FILE": toolchain,
        "BUILD_SHARED_LIBS": "OFF",
        **library.options,
    }
    arguments = [f"-D{name}={value}" for name, value in options.items()]
    for command in (
        ["cmake", "-G", "Ninja", "-S", source / library.folder, "-B", folder, *arguments],
        ["cmake", "--build", folder],
        ["cmake", "--install", folder],
    ):
        subprocess.run(command, check=True, stdout=out, stderr=subprocess.STDOUT)


def _run_commands(library: Library, source: Path, tools: Path, folder: Path, prefix: Path, out) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    env = {"CC": f"{tools}/cc", "AR": f"{tools}/ar", "RANLIB": f"{tools}/ranlib", "CFLAGS": "-O2 -fPIC",
           "LARGE_FILES": "-D_FILE_OFFSET_BITS=64",
           "PREFIX": str(prefix), "MAKEFLAGS": ""}  # fmt: skip
    subprocess.run(["bash", "-c", library.commands], check=True, cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                   env=os.environ | env)  # fmt: skip
