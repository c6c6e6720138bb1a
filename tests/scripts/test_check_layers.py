"""The check of the layers names the line of an include of a higher layer or of an internal header, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


def check(root: Path, files: dict[str, str]) -> tuple[int, str]:
    """Writes a small tree and checks it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_includes_of_lower_layers_pass(tmp_path: Path) -> None:
    """Downwards, sideways, libraries, and the faces, which may use everything."""
    status, output = check(
        tmp_path,
        {
            "src/layer_headers.txt": "base/*\nformat/npy/header.h\ncodec/codec.h\ncatalog/x.h  # why\n\n"
            "delivery/x.h\nloader/pipeline.h\n",
            "src/format/hdf5/reader.cpp": '#include "format/hdf5/x.h"\n#include "codec/codec.h"\n#include <hdf5.h>\n',
            "src/cache/a.cpp": '#include "format/npy/header.h"\n',
            "src/format/a.cpp": '#include "format/a_impl.h"\n#include "format/b.h"\n',
            "src/format/hdf5/a_test.cpp": '#include "codec/testing/x.h"\n#include "format/hdf5_testing.h"\n',
            "src/format/hdf5_testing.h": '#include "base/testing/x.h"\n',
            "src/order/plan.cpp": '#include "order/x.h"\n#include "catalog/x.h"\n#include <headrace/base/error.h>\n',
            "src/dataset/a.cpp": '#include "delivery/x.h"\n',
            "include/headrace/loader/loader.h": "#include <headrace/dataset/dataset.h>\n#include <vector>\n",
            "include/headrace/headrace.h": "#include <headrace/loader/loader.h>\n",
            "cli/main.cpp": '#include "loader/pipeline.h"\n#include <headrace/headrace.h>\n#include <CLI/CLI.hpp>\n',
            "python/bind/module.cpp": '#include "bind/register.h"\n#include "base/result.h"\n',
        },
    )
    assert status == 0, output


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("src/codec/deflate.cpp", '#include "format/reader.h"', "codec includes format/reader.h"),
        ("src/base/error.cpp", "#include <headrace/loader/loader.h>", "base includes headrace/loader/loader.h"),
        ("src/loader/loader.cpp", "#include <headrace/headrace.h>", "belongs to face"),
        (
            "src/dataset/dataset.cpp",
            '#include "loader/engine.h"',
            "dataset includes loader/engine.h, which belongs to loader",
        ),
        ("src/delivery/a.cpp", "#include <headrace/dataset/mix.h>", "which belongs to dataset, above it"),
        ("src/order/plan.cpp", '#include "storage/file.h"', "may include only base and catalog"),
        ("src/loader/a.cpp", '  #  include "cli/table.h"', "loader includes cli/table.h"),
        ("include/headrace/base/error.h", "#include <fmt/format.h>", "which users do not have"),
        ("include/headrace/base/error.h", '#include "base/result.h"', "which users do not have"),
        ("src/helpers/misc.cpp", "", "no layer has this name"),
    ],
)
def test_an_include_of_a_higher_layer_is_named(tmp_path: Path, file: str, line: str, says: str) -> None:
    """One bad line on the third line of an otherwise good file."""
    status, output = check(tmp_path, {file: f"// a file\n#include <string>\n{line}\n"})
    assert status == 1
    assert says in output
    assert output.startswith(f"{file}:{3 if line else 1}: ")


@pytest.mark.parametrize(
    ("file", "name", "says"),
    [
        (
            "src/loader/a.cpp",
            "cache/folder.h",
            "loader includes cache/folder.h, which is internal to cache: src/layer_headers.txt",
        ),
        ("src/loader/a_test.cpp", "cache/folder.h", "loader includes cache/folder.h, which is internal to cache"),
        ("cli/main.cpp", "loader/engine.h", "face includes loader/engine.h, which is internal to loader"),
        ("src/loader/a.cpp", "format/hdf5/walk.h", "which is internal to format: src/layer_headers.txt"),
        ("src/tools/a.cpp", "loader/x_impl.h", "which is internal to loader\n"),
        ("src/cache/a.cpp", "codec/x-inl.h", "which is internal to codec\n"),
        ("src/cache/a.cpp", "storage/testing/x.h", "which is for tests only"),
        ("src/cache/a.h", "cache/testing_x.h", "which is for tests only"),
        ("src/cache/a.h", "cache/x_testing.h", "which is for tests only"),
    ],
)
def test_internal_headers_are_named(tmp_path: Path, file: str, name: str, says: str) -> None:
    """What is not listed, and what may not be."""
    listed = "loader/x_impl.h\ncodec/x-inl.h\n" if says.endswith("\n") else "base/*\nformat/*\n"
    status, output = check(tmp_path, {"src/layer_headers.txt": listed, file: f'#include <string>\n#include "{name}"\n'})
    assert status == 1
    assert output.startswith(f"{file}:2: ")
    assert says in output


def test_a_line_that_no_include_needs_is_named(tmp_path: Path) -> None:
    """A line of the list goes with the last include of another layer."""
    status, output = check(
        tmp_path,
        {
            "src/layer_headers.txt": "base/*\ncache/a.h\n",
            "src/cache/a.cpp": '#include "cache/a.h"\n#include "base/b.h"\n',
        },
    )
    assert status == 1
    assert (
        output
        == "src/layer_headers.txt:2: no other layer includes cache/a.h: take the line out, the header is internal\n"
    )
