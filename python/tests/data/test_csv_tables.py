"""CSV files of join() and Spans: numbers as they are, little memory, and files that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace._dataset.csv_table import read_csv

pytestmark = pytest.mark.fast


def column(folder: Path, cells: list[str]) -> np.ndarray:
    (folder / "t.csv").write_text("\n".join(["a,b", *(f"{i},{cell}" for i, cell in enumerate(cells))]))
    return read_csv(str(folder / "t.csv"), ["b"])["b"]


@pytest.mark.parametrize("before", [0, 3, 4095, 4096, 9000])
def test_the_type_is_that_of_all_cells(tmp_path: Path, before: int) -> None:
    """Wherever the first fraction is: the file is read in pieces of 4,096 rows."""
    whole = [str(i) for i in range(before)]
    got = column(tmp_path, [*whole, "2"])
    assert got.dtype == np.int64
    assert got.tolist() == [*range(before), 2]
    got = column(tmp_path, [*whole, "0.5", *whole])
    assert got.dtype == np.float64
    assert got.tolist() == [*range(before), 0.5, *range(before)]


def test_whole_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    numbers = [2**63 - 1, -(2**63), 2**53 + 1]
    assert column(tmp_path, [str(n) for n in numbers]).tolist() == numbers
    exact = column(tmp_path, ["0.5", str(2**54)])
    assert exact.tolist() == [0.5, 2.0**54]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([str(2**63)], r"line 2: column 'b': 9223372036854775808 is beyond 64 bits"),
        (["1", str(2**53 + 1), "0.5"], r"line 3: column 'b': 9007199254740993 would be rounded"),
        ([*["1"] * 5000, str(2**53 + 1), *["1"] * 5000, "0.5"], r"column 'b': 9007199254740993 would be rounded"),
        (["0.5", *["1"] * 5000, str(-(2**53) - 1)], r"line 5003: column 'b': -9007199254740993 would be rounded"),
        (["0.5", "9" * 400], r"line 3: column 'b': 9{40} is beyond float64"),
        (["0.5", "9" * 5000], r"line 3: column 'b': 9{40} is beyond float64"),
        (["0.5", "1e400"], r"line 3: column 'b': 1e400 is beyond float64"),
        (["9007199254740993.0", "1"], r"line 2: column 'b': 9007199254740993 would be rounded"),
        (["0.5", "90071992547409930e-1"], r"line 3: column 'b': 9007199254740993 would be rounded"),
    ],
)
def test_numbers_that_would_be_rounded(tmp_path: Path, cells: list[str], said: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=said):
        column(tmp_path, cells)


def test_a_line_of_a_later_piece_is_named(tmp_path: Path) -> None:
    with pytest.raises(hr.CorruptDataError, match=r"line 5002: 'x' in the column 'b' is no number"):
        column(tmp_path, [*["1"] * 5000, "x", *["2"] * 5000])


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    """In a process of its own, which would hang or take all memory."""
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    with (tmp_path / "hole.csv").open("wb") as file:
        file.write(b"k,p\n")
        file.truncate(2**33)  # a line of 8 GB
    np.save(tmp_path / "k.npy", np.arange(3))
    code = (
        "import sys, resource, headrace as hr\n"
        "data = hr.open(sys.argv[1] + '/k.npy')\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\n"
        "for name in ('fifo', 'zero', 'folder', 'hole'):\n"
        "    for take in (lambda t: data.join(t, 'k', ['p']),\n"
        "        lambda t: hr.open(sys.argv[1] + '/k.npy', sample_by=hr.Spans(meta=t, first='k', last='p'))):\n"
        "        try: take(f'{sys.argv[1]}/{name}.csv')\n"
        "        except hr.Error as error: print(type(error).__name__, error)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert len(told) == 8
    for line in told[:6]:
        assert line.startswith("InvalidArgumentError")
        assert "it is not a regular file" in line
    for line in told[6:]:
        assert line.startswith("CorruptDataError")
        assert "line 2: a line of 16,777,216 characters" in line


def test_memory_is_near_that_of_the_result(tmp_path: Path) -> None:
    """4 MB of columns from 6 MB of text; lists of its cells took 110 MB. Without memory, the error has a name."""
    rows = 250_000
    with (tmp_path / "t.csv").open("w") as file:
        file.write("k,p,name\n")
        file.writelines(f"{i},{i * 977},some name\n" for i in range(rows))
    code = (
        "import sys, resource, headrace as hr\n"
        "from headrace._dataset.csv_table import read_csv\n"
        "def peak():\n"
        "    return int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
        "def size():\n"
        "    return int(next(l for l in open('/proc/self/status') if l.startswith('VmSize')).split()[1])\n"
        "before = peak()\n"
        "columns = read_csv(sys.argv[1], ['k', 'p'])\n"
        "print(len(columns['p']), peak() - before)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size() * 1024 + 2**20, -1))\n"
        "try: more = [read_csv(sys.argv[1], ['k', 'p']) for _ in range(9)]\n"
        "except hr.OutOfBudgetError as error: print('no memory', error.file == sys.argv[1])\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "t.csv")]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    count, kib = map(int, told[0].split())
    assert count == rows
    assert kib < 16 * 1024
    assert told[1] == "no memory True"


def test_globs_are_one_table(tmp_path: Path) -> None:
    """In the order of their numbers; a file whose own name looks like a pattern is itself."""
    for number in (2, 10, 1):
        (tmp_path / f"t{number}.csv").write_text(f"k,p\n{number},{number * 5}\n")
    (tmp_path / "[t].csv").write_text("k,p\n1,6\n2,7\n10,8\n")
    np.save(tmp_path / "k.npy", np.array([1, 2, 10]))
    data = hr.open(tmp_path / "k.npy")
    assert data.join(f"{tmp_path}/t*.csv", "k", ["p"])["p"][:].tolist() == [5, 10, 50]
    assert data.join(tmp_path / "[t].csv", "k", ["p"])["p"][:].tolist() == [6, 7, 8]


def test_tables_of_other_libraries(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    np.save(tmp_path / "k.npy", np.array([1, 0]))
    data = hr.open(tmp_path / "k.npy")
    assert data.join(pa.table({"k": [0, 1], "p": [5, 6]}), "k", ["p"])["p"][:].tolist() == [6, 5]


@pytest.mark.parametrize(
    ("table", "fields", "said"),
    [
        ({"k": [0, 1], "p": [[1], [2, 3]]}, ["p"], "the table: 'p' is no array"),
        ({"k": [0, 1], "p": [1, 2]}, 3, "fields must be a list of columns"),
        ([1, 2], ["p"], "a table is a path, a Dataset, or a mapping"),
    ],
)
def test_no_bare_errors(tmp_path: Path, table: object, fields: object, said: str) -> None:
    np.save(tmp_path / "k.npy", np.array([1, 0]))
    with pytest.raises(hr.InvalidArgumentError, match=said):
        hr.open(tmp_path / "k.npy").join(table, "k", fields)  # type: ignore[arg-type]


def test_nothing_with_any_exponent_is_nothing(tmp_path: Path) -> None:
    cells = ["0.0e9999999999999999999999", "1e-9999999999999999999999", "0.5"]
    assert column(tmp_path, cells).tolist() == [0, 0, 0.5]


@pytest.mark.parametrize("cell", ["1_000", "٣", '"5"6', "0x10", "", "1 2"])
def test_cells_that_are_no_numbers_of_a_table(tmp_path: Path, cell: str) -> None:
    with pytest.raises(hr.CorruptDataError):
        column(tmp_path, ["1", cell])


def test_headers(tmp_path: Path) -> None:
    """Blank lines are passed over, long cells of other columns too; of two columns of one name none is meant."""
    np.savez(tmp_path / "d.npz", k=np.array([2, 1]))
    data = hr.open(tmp_path / "d.npz")
    (tmp_path / "a.csv").write_text("\n\nk,v,n\n1,10," + "a" * 200_000 + "\n\n2,20,b\n")
    assert data.join(tmp_path / "a.csv", on="k", fields=["v"])[:]["v"].tolist() == [20, 10]
    (tmp_path / "b.csv").write_text("k,v,v\n1,10,1\n2,20,2\n")
    with pytest.raises(hr.CorruptDataError, match="2 columns are named 'v'"):
        data.join(tmp_path / "b.csv", on="k", fields=["v"])
