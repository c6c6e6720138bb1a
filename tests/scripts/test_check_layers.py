"""The check of the layers names the line of an include of a higher layer or of an internal header, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


LAYERS = """headrace_layer(base COMPONENTS memory text USES fmt::fmt)
headrace_layer(catalog BELOW base)
headrace_layer(storage BELOW base catalog)
headrace_layer(codec BELOW storage USES fmt::fmt
                     zstd::zstd)
headrace_layer(format BELOW codec COMPONENTS npy hdf5/types hdf5/arrays hdf5)
headrace_layer(cache BELOW format COMPONENTS directory)
headrace_layer(order BELOW base catalog)
headrace_layer(delivery BELOW cache order)
headrace_layer(dataset BELOW delivery)
headrace_layer(loader BELOW dataset COMPONENTS options plan engine)
headrace_layer(tools BELOW loader)
"""
FOLDERS = ("base/memory", "base/text", "format/npy", "format/hdf5/types", "format/hdf5/arrays", "cache/directory")
FOLDERS += ("loader/options", "loader/plan", "loader/engine")
PUBLIC = "headrace/error.h: base\nheadrace/dataset.h: dataset\nheadrace/mix.h: dataset\nheadrace/loader.h: loader\n"
HEADERS = {f"include/headrace/{name}.h": "" for name in ("error", "dataset", "mix", "loader")}


def check(root: Path, files: dict[str, str], *, listed: str = "") -> tuple[int, str]:
    """Writes a small tree and checks it."""
    for folder in FOLDERS:
        (root / "src" / folder).mkdir(parents=True, exist_ok=True)
    tree = {"CMakeLists.txt": LAYERS, "src/layer_headers.txt": listed + PUBLIC, **HEADERS}
    for name, text in {**tree, **files}.items():
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
            "src/format/hdf5/read.cpp": '#include "format/hdf5/arrays/x.h"\n#include "codec/codec.h"\n#include <h5>\n',
            "src/format/hdf5/types/t.h": '#include "format/hdf5/reader.h"\n#include "base/text/words.h"\n',
            "src/format/hdf5/arrays/x.h": '#include "format/hdf5/types/t.h"\n#include "format/npy/header.h"\n',
            "src/format/without/hdf5.cpp": '#include "format/format_reader.h"\n',
            "src/cache/a.cpp": '#include "format/npy/header.h"\n',
            "src/format/a.cpp": '#include "format/a_impl.h"\n#include "format/b.h"\n',
            "src/format/a_test.cpp": "",
            "src/format/no_subject_test.cpp": "",
            "src/format/hdf5/b_bench.cpp": '#include "codec/testing/x.h"\n#include "format/hdf5/x_testing.h"\n',
            "src/format/hdf5/x_testing.h": '#include "base/testing/x.h"\n',
            "src/order/plan.cpp": '#include "order/x.h"\n#include "catalog/x.h"\n#include <headrace/error.h>\n',
            "src/dataset/a.cpp": '#include "delivery/x.h"\n',
            "src/loader/options/a_test.cpp": '#include "loader/engine/x.h"\n',
            "include/headrace/loader.h": "#include <headrace/dataset.h>\n#include <vector>\n",
            "include/headrace/headrace.h": "#include <headrace/loader.h>\n#include <headrace/mix.h>\n"
            "#include <headrace/error.h>\n",
            "cli/main.cpp": '#include "loader/pipeline.h"\n#include <headrace/headrace.h>\n#include <CLI/CLI.hpp>\n',
            "python/bind/module.cpp": '#include "bind/register.h"\n#include "base/result.h"\n',
        },
        listed="base/**\nformat/npy/header.h\ncodec/codec.h\ncatalog/x.h  # why\n\ndelivery/x.h\nloader/pipeline.h\n",
    )
    assert (status, output.split(":")[0]) == (0, "layers"), output


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        (
            "src/codec/deflate.cpp",
            '#include "format/reader.h"',
            "codec includes format/reader.h, which belongs to format",
        ),
        ("src/codec/deflate.cpp", '#include "format/reader.h"', "above it; its place is src/format\n"),
        ("src/base/error.cpp", "#include <headrace/loader.h>", "above it; its place is src/loader\n"),
        (
            "src/loader/loader.cpp",
            "#include <headrace/headrace.h>",
            "belongs to face, above it; its place is cli, or pyth",
        ),
        (
            "src/dataset/a.cpp",
            '#include "loader/engine/engine.h"',
            "which belongs to loader, above it; its place is src/l",
        ),
        ("src/dataset/a.cpp", '#include "loader/engine/engine.h"', "its place is src/loader/engine\n"),
        ("src/delivery/a.cpp", "#include <headrace/mix.h>", "which belongs to dataset, above it"),
        ("src/order/plan.cpp", '#include "storage/file.h"', "may include only base and catalog\n"),
        ("src/order/plan.cpp", '#include "base/threads/parallel.h"', "it depends on no clock, thread or machine\n"),
        ("src/order/plan.h", '#include "base/clock.h"', "order includes base/clock.h: it depends on no clock"),
        ("src/loader/a.cpp", '  #  include "cli/table.h"', "loader includes cli/table.h"),
        (
            "src/loader/plan/a.h",
            '#include "loader/engine/x.h"',
            "loader/plan includes loader/engine/x.h, a component above it; i",
        ),
        ("src/loader/plan/a.h", '#include "loader/engine/x.h"', "its place is src/loader/engine\n"),
        (
            "src/format/hdf5/types/a.h",
            '#include "format/hdf5/arrays/x.h"',
            "a component above it; its place is src/format/hdf5/arr",
        ),
        (
            "src/order/a.h",
            "#include <loader/engine/x.h>",
            'is included as "layer/component/x.h", not as loader/engine/x.',
        ),
        ("src/order/a.h", '#include "../loader/engine/x.h"', 'is included as "layer/component/x.h", not as ../loader/'),
        ("include/headrace/error.h", "#include <fmt/format.h>", "which users do not have"),
        ("include/headrace/error.h", '#include "base/result.h"', "which users do not have"),
    ],
)
def test_an_include_of_what_is_above_is_named(tmp_path: Path, file: str, line: str, says: str) -> None:
    """One bad line on the third line of an otherwise good file."""
    status, output = check(tmp_path, {file: f"// a file\n#include <string>\n{line}\n"})
    assert status == 1
    assert says in output
    assert output.startswith(f"{file}:3: ")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            ["src/helpers/misc.cpp"],
            "src/helpers/misc.cpp:1: no layer has this name; the layers are base, catalog, storage, c",
        ),
        (
            ["src/loader/words/a.h"],
            "a.h:1: loader has no component words; its components (CMakeLists.txt) are options, plan, engine\n",
        ),
        (
            ["src/delivery/words/a.h"],
            "a.h:1: delivery has no component words; its components (CMakeLists.txt) are none\n",
        ),
        (["src/format/hdf5/b/a.h"], ""),
        (["src/loader/plan/a.cpp", "src/loader/a_test.cpp"], "elsewhere: src/loader/plan/a_test.cpp is its place\n"),
        (
            [f"src/loader/plan/{i}.h" for i in range(41)],
            "src/loader/plan: 41 files beside its tests, and a folder has 40",
        ),
        ([f"src/loader/plan/{i}_test.cpp" for i in range(41)], ""),
        (
            ["include/headrace/loader/a.h"],
            "a.h:1: public headers lie in include/headrace, flat: include/headrace/a.h is i",
        ),
        (["include/headrace/a.h"], "say to which layer this public header belongs: headrace/a.h: LAYER\n"),
        (["include/headrace/headrace.h"], "include/headrace/headrace.h:1: it lacks headrace/dataset.h\n"),
        (["src/loader/plan/a.hpp"], "src/loader/plan/a.hpp:1: sources end with .cpp and headers with .h\n"),
        (["python/bind/a.c"], "python/bind/a.c:1: sources end with .cpp and headers with .h\n"),
    ],
)
def test_files_in_a_wrong_place_are_told_the_right_one(tmp_path: Path, files: list[str], says: str) -> None:
    """Empty files: where they lie is enough."""
    status, output = check(tmp_path, dict.fromkeys(files, ""))
    assert (status, says in output) == (1 if says else 0, True), output


def test_a_public_header_that_is_gone_is_named(tmp_path: Path) -> None:
    """The line of the list is what is wrong."""
    status, output = check(tmp_path, {}, listed="headrace/gone.h: base\n")
    assert (status, output) == (1, "src/layer_headers.txt:1: there is no include/headrace/gone.h: take the line out\n")


def test_layers_are_listed_from_the_lowest_up(tmp_path: Path) -> None:
    """What a layer includes stands before it."""
    (tmp_path / "CMakeLists.txt").write_text("headrace_layer(b BELOW a)\nheadrace_layer(a)\n")
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "CMakeLists.txt: b is above a, and stands before it" in done.stderr


@pytest.mark.parametrize(
    ("file", "name", "says"),
    [
        (
            "src/loader/a.cpp",
            "cache/directory/folder.h",
            "loader includes cache/directory/folder.h, which is internal to cache: src/layer_headers.txt",
        ),
        ("src/loader/a_test.cpp", "cache/folder.h", "loader includes cache/folder.h, which is internal to cache"),
        ("cli/main.cpp", "loader/engine/engine.h", "face includes loader/engine/engine.h, which is internal to loader"),
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
    listed = "loader/x_impl.h\ncodec/x-inl.h\n" if says.endswith("\n") else "base/**\nformat/npy/*\n"
    status, output = check(tmp_path, {file: f'#include <string>\n#include "{name}"\n'}, listed=listed)
    assert status == 1
    assert output.startswith(f"{file}:2: ")
    assert says in output


def test_a_line_that_no_include_needs_is_named(tmp_path: Path) -> None:
    """A line of the list goes with the last include of another layer."""
    files = {"src/cache/a.cpp": '#include "cache/a.h"\n#include "base/b.h"\n'}
    status, output = check(tmp_path, files, listed="base/**\ncache/a.h\n")
    assert status == 1
    assert (
        output
        == "src/layer_headers.txt:2: no other layer includes cache/a.h: take the line out, the header is internal\n"
    )


def test_lines_that_name_no_layer_or_folder(tmp_path: Path) -> None:
    """A public header of a layer that there is not, and a component without a folder."""
    status, output = check(tmp_path, {"include/headrace/new.h": ""}, listed="headrace/new.h: nolayer\n")
    assert status == 1
    assert "src/layer_headers.txt:1: no layer is called nolayer\n" in output
    status, output = check(tmp_path, {"CMakeLists.txt": LAYERS + "headrace_layer(more BELOW tools COMPONENTS gone)\n"})
    assert status == 1
    assert "CMakeLists.txt: there is no folder src/more/gone: take the component out\n" in output
