"""A compiler for an older C library than this machine's, and for other processors: clang, as `ziglang` carries it.

It carries the headers and symbols of every glibc since 2.17 and a C++ library of its own, which is linked into what it
makes: nothing that it makes needs a libstdc++ or a glibc newer than GLIBC.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
from pathlib import Path

GLIBC = "2.28"  # manylinux_2_28: RHEL 8, Debian 10, Ubuntu 20.04 and all that came later

# zig adds checks of undefined behaviour by itself, which end the process, and refuses a few options of CMake's.
WRAPPER = """#!/bin/sh
# zig {version}
exec {zig} {command} -target {target} -fno-sanitize=all "$@"
"""
PLAIN = """#!/bin/sh
exec {zig} {command} "$@"
"""
TOOLCHAIN = """# Made by scripts/wheel/zig.py.
{system}set(CMAKE_C_COMPILER "{tools}/cc")
set(CMAKE_CXX_COMPILER "{tools}/c++")
set(CMAKE_AR "{tools}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "{tools}/ranlib" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "{prefix}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{{PKG_CONFIG_LIBDIR}} "{prefix}/lib/pkgconfig")
"""
SYSTEM = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {machine})
set(CMAKE_CROSSCOMPILING_EMULATOR {emulator})
"""


def write_toolchain(machine: str, folder: Path, prefix: Path) -> Path:
    """Write the compiler's wrappers and a toolchain file for `machine` into `folder`.

    Libraries are looked for in `prefix` alone.
    """
    zig = folder_of_zig() / "zig"
    version = importlib.metadata.version("ziglang")  # ccache compares the wrapper alone
    tools = folder / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "c++", "ar", "ranlib"):
        text = WRAPPER if name.startswith("c") else PLAIN
        write(tools / name, text.format(zig=zig, command=name, target=f"{machine}-linux-gnu.{GLIBC}", version=version))
        (tools / name).chmod(0o755)
    runs = emulator(machine)
    system = SYSTEM.format(machine=machine, emulator=runs) if runs else ""
    path = folder / "toolchain.cmake"
    write(path, TOOLCHAIN.format(system=system, tools=tools, prefix=prefix))
    return path


def folder_of_zig() -> Path:
    """Return where pip put the package."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None:
        raise SystemExit("The package ziglang is missing: run scripts/setup.sh wheel.")
    return Path(spec.submodule_search_locations[0])


def licences_of_zig() -> dict[str, Path]:
    """Return the licences of what zig links into a program: its C++ library, by name."""
    return {name: folder_of_zig() / "lib" / name / "LICENSE.TXT" for name in ("libcxx", "libcxxabi", "libunwind")}


def emulator(machine: str) -> str:
    """Return the command that runs programs of `machine` here; nothing where this machine is one itself."""
    if machine == platform.machine():
        return ""
    found = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    library = Path(f"/usr/{machine}-linux-gnu")
    if not found or not library.is_dir():
        raise SystemExit(
            f"qemu-{machine} or its C library is missing, which run what is built to be asked: "
            "apt-get install qemu-user-static libc6-arm64-cross."
        )
    return f"{found};-L;{library}"


def write(path: Path, text: str) -> None:
    """Write a file where its text is another, so that nothing is built anew for it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
