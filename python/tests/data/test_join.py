"""Dataset.join(): fields out of a table, by a number that each row has, against NumPy's look-up."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from ragged_files import FORMATS, Event, changed, check, check_everywhere, equal, events_of, make_events
from ragged_files import opened as opened_as

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
WANT = make_events(1)
ORDER = np.random.default_rng(3).permutation(50)
TABLE: dict[str, np.ndarray] = {  # of each sensor, in no order
    "sensor": ORDER,
    "px": (ORDER * 3 + 0.25).astype(np.float32),
    "string": (ORDER // 7).astype(np.uint8),
    "dead": ORDER % 11 == 0,
}
KEYS = np.array([3, 1, 2, 3, 1, 2, 2, 0, 1, 3])
SMALL = {"k": np.array([2, 0, 1, 3]), "p": np.array([12, 10, 11, 13], np.int16)}


def looked_up(event: Event) -> dict[str, Any]:
    place = np.argsort(ORDER)[event["sensor"]]
    return {name: TABLE[name][place] for name in ("px", "string", "dead")}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    return opened_as(tmp_path_factory.mktemp("events"), "h5", WANT)


@pytest.fixture(scope="module")
def joined(events: hr.Dataset) -> hr.Dataset:
    return events.join(TABLE, "sensor", ["px", "string", "dead"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Rows without sample_by: keys of several types, all the same numbers but `far` and `below`."""
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    columns = {"k": KEYS, "u1": KEYS.astype("u1"), "u8": KEYS.astype("u8"), "i2": KEYS.astype("i2"), "f": KEYS * 1.0}
    np.savez(path, **columns, odd=KEYS % 2 == 1, far=KEYS * 10**12 - 10**12, below=KEYS - 100, grid=KEYS.reshape(10, 1))
    return hr.open(path)


@pytest.mark.parametrize("kind", FORMATS)
def test_each_row_gets_its_row_of_the_table(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("pyarrow" if "parquet" in kind else "numpy")
    data = opened_as(tmp_path, kind, WANT).join(TABLE, "sensor", ["px", "string", "dead"])
    check_everywhere(data, changed(WANT, looked_up, data.fields), fill=1)


def write_table(folder: Path, kind: str) -> Any:
    path = folder / f"table.{kind}"
    if kind == "npz":
        np.savez(path, **TABLE)  # type: ignore[arg-type]
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            for name, values in TABLE.items():
                file.create_dataset(name, data=values, chunks=(9,), compression="gzip")
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(TABLE), path, row_group_size=17)
    elif kind == "Dataset":
        return hr.open(write_table(folder, "h5"))
    elif kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(TABLE)
    elif kind == "lists":
        return {name: values.tolist() for name, values in TABLE.items()}
    return path


@pytest.mark.parametrize("kind", ["npz", "h5", "parquet", "Dataset", "pandas", "lists"])
def test_tables_of_all_kinds(events: hr.Dataset, tmp_path: Path, kind: str) -> None:
    """Columns have the table's types; lists those that NumPy gives them."""
    data = events.join(write_table(tmp_path, kind), "sensor", ["px", "string", "dead"])
    for number in (12, 20):
        for name, values in looked_up(WANT[number]).items():
            equal(
                data[number][name],
                values.astype({"px": "f8", "string": "i8"}[name]) if kind == "lists" and name != "dead" else values,
            )


CSV = {
    "plain": "k,p\n2,12\n0,10\n1,11\n3,13\n",
    "no line end": "k,p\n2,12\n0,10\n1,11\n3,13",
    "BOM, CRLF, blank lines": "\ufeffk,p\r\n2,12\r\n\r\n0,10\r\n1,11\r\n3,13\r\n\r\n",
    "quoted": '"name","k","p"\n"a, b","2","12"\n"two\nlines",0,10\n"say ""so""",1,11\n,3,13\n',
    "spaces": "k, p\n 2 , 12\n0,10\n1,11\n3, 13\n",
    "keys as floats": "k,p\n2.0,12\n0.0,10\n1e0,11\n3,13\n",
}


@pytest.mark.parametrize("name", CSV)
def test_csv(rows: hr.Dataset, tmp_path: Path, name: str) -> None:
    path = tmp_path / "Table.CSV"
    path.write_bytes(CSV[name].encode())
    for table in (path, str(path)):
        equal(rows.join(table, "k", ["p"])["p"][:], KEYS + 10)


def test_csv_of_fractions(rows: hr.Dataset, tmp_path: Path) -> None:
    """One fraction makes a column float64; what is no number matters in columns that are taken alone."""
    (tmp_path / "t.csv").write_text("k,p,name\n0,0.5,a\n1,11,\n2,nan,c\n3,-inf,d\n")
    got = rows.join(tmp_path / "t.csv", "k", ["p"])["p"][:]
    equal(got, np.array([0.5, 11, np.nan, -np.inf])[KEYS])


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("k,p\n0,1\n1,b\n", hr.CorruptDataError, r"t\.csv, line 3: 'b' in the column 'p' is no number"),
        ("k,p\n0,1\n1,\n", hr.CorruptDataError, r"t\.csv, line 3: '' in the column 'p' is no number"),
        ("p,k\n0,1\n1,x\n", hr.CorruptDataError, r"t\.csv, line 3: 'x' in the column 'k' is no number"),
        ('k,p,n\n0,1,"x\ny"\n\n1,b,c\n', hr.CorruptDataError, r"t\.csv, line 5: 'b' in the column 'p'"),
        ("k,p\n0,1\n1,2,3\n", hr.CorruptDataError, r"t\.csv, line 3: 3 values, where the first line has 2"),
        ("k,p\n0,1\n\n1\n", hr.CorruptDataError, r"t\.csv, line 4: 1 values, where the first line has 2"),
        (b"k,p\n0,\xe9\n", hr.CorruptDataError, r"t\.csv: it is no table of text"),
        ("k;p\n0;1\n", hr.FieldMissingError, r"t\.csv has no column 'k'; there are k;p"),
        ("k,q\n0,1\n", hr.FieldMissingError, r"t\.csv has no column 'p'; there are k, q"),
        ("", hr.FieldMissingError, r"t\.csv has no column 'k'; there are none"),
        ("k,p\n", hr.InvalidArgumentError, r"t\.csv has no rows"),
    ],
)
def test_damaged_csv(rows: hr.Dataset, tmp_path: Path, text: str | bytes, error: type[hr.Error], said: str) -> None:
    """The text names the file and its line."""
    (tmp_path / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match=said) as caught:
        rows.join(tmp_path / "t.csv", "k", ["p"])
    if error is hr.CorruptDataError:
        assert caught.value.file == str(tmp_path / "t.csv")


def test_files_that_are_not_there(rows: hr.Dataset, tmp_path: Path) -> None:
    for name in ("none.csv", "none.npz", "none.parquet"):
        with pytest.raises(hr.FileMissingError, match=name):
            rows.join(tmp_path / name, "k", ["p"])


@pytest.mark.parametrize("on", ["k", "u1", "u8", "i2"])
@pytest.mark.parametrize("dtype", ["i8", "u1", "u8", "f4", ">i4"])
def test_types_of_keys(rows: hr.Dataset, on: str, dtype: str) -> None:
    equal(rows.join({**SMALL, "k": SMALL["k"].astype(dtype)}, on, ["p"], key="k")["p"][:], (KEYS + 10).astype("i2"))


def test_keys_that_are_odd(rows: hr.Dataset) -> None:
    """Bool, below zero, far apart (looked up by hash), and beside an array of more than one number a row."""
    equal(rows.join({"odd": [True, False], "p": [5.0, 6.0]}, "odd", ["p"])["p"][:], np.where(KEYS % 2 == 1, 5.0, 6.0))
    below = {"below": np.arange(-100, -90), "p": np.arange(10)}
    equal(rows.join(below, "below", ["p"])["p"][:], KEYS)
    far = {"far": np.array([10**12, -(10**12), 0, 2 * 10**12, 2**53, -(2**53)]), "p": np.arange(6)}
    equal(rows.join(far, "far", ["p"])["p"][:], np.array([1, 2, 0, 3])[KEYS])
    equal(rows.join(SMALL, "grid", ["p"], key="k")["p"][:], (KEYS + 10).astype("i2").reshape(10, 1))


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8", "f2", "f4", "f8", ">f4"])
def test_types_of_columns(rows: hr.Dataset, dtype: str) -> None:
    values = np.array([0, 1, 1, 100]).astype(dtype)
    equal(
        rows.join({"k": np.arange(4), "p": values}, "k", ["p"])["p"][:],
        values.astype(values.dtype.newbyteorder("="))[KEYS],
    )


@pytest.mark.parametrize("name", ["float", "Int64", "with missing"])
def test_columns_of_pandas(rows: hr.Dataset, name: str) -> None:
    pd = pytest.importorskip("pandas")
    columns = {"float": [0.5, 1, 2, 3], "Int64": pd.array([1, 2, 3, 4], dtype="Int64")}
    columns["with missing"] = pd.array([1, None, 3, 4], dtype="Int64")
    frame = pd.DataFrame({"k": np.arange(4), "p": columns[name], "text": list("abcd")})
    want = {"float": np.array([0.5, 1, 2, 3]), "Int64": np.arange(1, 5), "with missing": np.array([1, np.nan, 3, 4])}
    equal(rows.join(frame, "k", ["p"])["p"][:], want[name][KEYS])
    with pytest.raises(hr.InvalidArgumentError, match=r"'text' is .* a number a row is expected"):
        rows.join(frame, "k", ["text"])


REFUSED: dict[str, tuple[dict[str, Any], type[hr.Error], str]] = {
    "float field": ({"on": "f", "key": "k"}, hr.InvalidArgumentError, "'f' is float64: keys are whole numbers"),
    "no field": ({"on": "kk", "key": "k"}, hr.FieldMissingError, "no field 'kk'"),
    "no column": ({"fields": ["q"]}, hr.FieldMissingError, "the table has no column 'q'; there are k, p"),
    "no key": ({"key": "q"}, hr.FieldMissingError, "the table has no column 'q'"),
    "one text": ({"fields": "p"}, hr.InvalidArgumentError, "fields must be a list of columns"),
    "no fields": ({"fields": []}, hr.InvalidArgumentError, "fields must be a list of columns"),
    "key twice": ({"table": {"k": [1, 2, 1], "p": [1, 2, 3]}}, hr.InvalidArgumentError, "two rows for the key 1"),
    "NaN": ({"table": {"k": [1, np.nan], "p": [1, 2]}}, hr.InvalidArgumentError, "the key nan, which is no whole"),
    "fraction": ({"table": {"k": [1, 0.5], "p": [1, 2]}}, hr.InvalidArgumentError, "the key 0.5, which is no whole"),
    "lengths": ({"table": {"k": [1, 2], "p": [1]}}, hr.InvalidArgumentError, "'p' has 1 rows, and 'k' 2"),
    "no rows": ({"table": {"k": [], "p": []}}, hr.InvalidArgumentError, "the table has no rows"),
    "text": ({"table": {"k": [1, 2], "p": ["a", "b"]}}, hr.InvalidArgumentError, "'p' is <U1 of 1 dimensions"),
    "matrix": ({"table": {"k": [1, 2], "p": np.eye(2)}}, hr.InvalidArgumentError, "'p' is float64 of 2 dimensions"),
    "complex": ({"table": {"k": [1], "p": [1j]}}, hr.InvalidArgumentError, "'p' is complex128"),
    "large key": (
        {"table": {"k": np.array([2**63], "u8"), "p": [1]}},
        hr.InvalidArgumentError,
        "the key 9223372036854775808",
    ),
    "no table": ({"table": 3}, hr.InvalidArgumentError, "a table is a path, a Dataset, or a mapping"),
    "otherwise": ({"otherwise": 0.5}, hr.InvalidArgumentError, "0.5 of 'p' is no int16"),
    "NaN otherwise": ({"otherwise": float("nan")}, hr.InvalidArgumentError, "nan of 'p' is no int16"),
    "text otherwise": ({"otherwise": "x"}, hr.InvalidArgumentError, "otherwise must be a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(rows: hr.Dataset, name: str) -> None:
    changes, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as caught:
        rows.join(**{"table": SMALL, "on": "k", "fields": ["p"], **changes})
    if name == "float field":
        assert 'T.Cast(field, "int64", exact=True)' in caught.value.hint
        made = rows.map(T.Cast("f", "int64", exact=True)).join(SMALL, "f", ["p"], key="k")
        equal(made["p"][:], (KEYS + 10).astype("i2"))


def test_a_key_that_is_not_in_the_table(rows: hr.Dataset, events: hr.Dataset) -> None:
    """An error of its batch, which names the key and where it is; others are delivered."""
    with pytest.raises(hr.CorruptDataError, match=r"sample 0: the table has no row for the k 3\."):
        rows.join({"k": [0, 1, 2], "p": [1, 2, 3]}, "k", ["p"])[:]
    long = next(number for number, event in enumerate(WANT) if 1 < len(event["sensor"]) < 100 and number > 12)
    gone = int(WANT[long]["sensor"][1])
    table = {name: values[TABLE["sensor"] != gone] for name, values in TABLE.items()}
    data = events.join(table, "sensor", ["px"])
    for layout in ("ragged", "padded"):
        with pytest.raises(hr.CorruptDataError, match=f"no row for the sensor {gone}") as caught:
            hr.Loader(data, 1, layout=layout).batch(0, long)
        assert f", sample {long}: the table" in str(caught.value)
        assert "otherwise=" in (caught.value.hint or "")
        free = [n for n, event in enumerate(WANT) if gone not in event["sensor"] and len(event["sensor"])]
        assert len(hr.Loader(data, 1, layout=layout).batch(0, free[0])["px"])


def test_otherwise(rows: hr.Dataset, events: hr.Dataset) -> None:
    some = {"k": [0, 2], "p": np.array([0.5, 1.5], "f4"), "q": np.array([True, True])}
    got = rows.join(some, "k", ["p", "q"], otherwise=0)[:]
    equal(got["p"], np.array([0.5, 0, 1.5, 0], "f4")[KEYS])
    equal(got["q"], np.array([True, False, True, False])[KEYS])
    nan = rows.join(some, "k", ["p"], otherwise=float("nan"))["p"][:]
    equal(nan, np.array([0.5, np.nan, 1.5, np.nan], "f4")[KEYS])
    data = events.join({"sensor": [5, 7], "px": [1.0, 2.0]}, "sensor", ["px"], otherwise=-1)
    lookup = np.full(50, -1.0)
    lookup[[5, 7]] = 1, 2
    check(events_of(data[:]), changed(WANT, lambda e: {"px": lookup[e["sensor"]]}))


def test_targets_have_a_table_of_their_own(events: hr.Dataset) -> None:
    """A number of each event is looked up beside those of its rows, and both are transformed on."""
    names = {"kind": [0, 1, 2, 3], "mass": [0.5, 1.5, 2.5, 3.5]}
    data = events.join(names, "kind", ["mass"]).join(TABLE, "sensor", ["px", "string"])
    data = data.map(T.Affine("mass", 2), T.OneHot("string", 8), T.Cast("px", "float64"), T.Drop("sensor"))

    def change(event: Event) -> dict[str, Any]:
        found = looked_up(event)
        one_hot = np.eye(8, dtype="f4")[found["string"]]
        return {"mass": 2 * event["kind"] + 1.0, "string": one_hot, "px": found["px"].astype("f8")}

    check_everywhere(data, changed(WANT, change, data.fields))


def test_fields_replace_those_of_their_name(rows: hr.Dataset, events: hr.Dataset) -> None:
    data = rows.join({"id": np.arange(4), "k": np.arange(4) * 100.0}, "k", ["k"], key="id")
    assert list(data.fields) == list(rows.fields)
    equal(data["k"][:], KEYS * 100.0)
    charge = np.arange(50, dtype="f4")
    made = events.join({"id": np.arange(50), "charge": charge}, "sensor", ["charge"], key="id")
    check(events_of(made[:]), changed(WANT, lambda e: {"charge": charge[e["sensor"]]}))
    with pytest.raises(hr.InvalidArgumentError, match="Join comes after the Python function"):
        rows.map(lambda columns: columns).join(SMALL, "k", ["p"])


def test_truncated_events(events: hr.Dataset) -> None:
    want = changed(WANT, lambda e: {k: v[:9] for k, v in {**e, **looked_up(e)}.items() if np.ndim(v)})
    join = {"table": TABLE, "on": "sensor", "fields": ["px", "string", "dead"]}
    for data in (events.map(T.Truncate(9)).join(**join), events.join(**join).map(T.Truncate(9))):
        check(events_of(data[:]), want)
        assert max(len(b["px"]) for b in hr.Loader(data, batch=hr.ByTokens(50), shuffle=True)) <= 50


def test_large_tables_are_told_shortly(rows: hr.Dataset) -> None:
    table = {"k": np.arange(5000), "p": np.random.default_rng(0).random(5000)}
    data = rows.join(table, "k", ["p"])
    loader = hr.Loader(data, 3)
    for text in (str(data), repr(data), data._repr_html_(), loader.explain(), str(loader.report())):
        assert len(text) < 3000
    assert len(str(loader.state_dict())) < 300
    assert "5,000 int64" in str(data)
    missing = rows.join({"k": table["k"] + 1, "p": table["p"]}, "k", ["p"])
    with pytest.raises(hr.CorruptDataError, match="no row for the k 0") as caught:
        missing[:]
    assert len(str(caught.value)) < 400


def test_pickles_and_states(joined: hr.Dataset, events: hr.Dataset) -> None:
    """A state goes on, and is refused by another table, of which one number differs."""
    want = changed(WANT, looked_up)
    again = pickle.loads(pickle.dumps(joined))
    assert check(events_of(again[:]), want) == list(range(60))
    loader = hr.Loader(joined, 7, shuffle=True)
    whole = [check(events_of(batch), want) for batch in loader]
    loader = hr.Loader(joined, 7, shuffle=True)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    rest = hr.Loader(again, 7, shuffle=True)
    rest.load_state_dict(loader.state_dict())
    assert [check(events_of(batch), want) for batch in rest] == whole[3:]
    for change in ({"px": np.where(ORDER == 9, 1, TABLE["px"])}, {"dead": TABLE["string"]}):
        other = events.join({**TABLE, **change}, "sensor", ["px", "string", "dead"])
        with pytest.raises(hr.InvalidArgumentError):
            hr.Loader(other, 7, shuffle=True).load_state_dict(loader.state_dict())


def test_selections_and_parts(joined: hr.Dataset) -> None:
    want, odd = changed(WANT, looked_up), list(range(1, 60, 2))
    assert check(events_of(joined.select(odd)[:]), want) == odd
    parts = joined.split({"a": 0.5, "b": 0.5}).values()
    assert sorted(number for part in parts for number in check(list(part), want)) == list(range(60))


def test_whole_numbers_are_never_rounded(tmp_path: Path) -> None:
    keys = np.array([2**53 + 1, 2**53, -(2**63), 2**63 - 1])
    np.save(tmp_path / "k.npy", keys)
    data = hr.open(tmp_path / "k.npy").join({"k": keys[::-1], "p": keys[::-1] // 3}, "k", ["p"])
    assert data["p"][:].tolist() == (keys // 3).tolist()
    assert data["p"][:].dtype == np.int64


def test_otherwise_is_of_any_key(tmp_path: Path) -> None:
    np.save(tmp_path / "k.npy", np.array([2**63, 1], np.uint64))
    data = hr.open(tmp_path / "k.npy").join({"k": [1], "p": [5]}, "k", ["p"], otherwise=-1)
    assert data["p"][:].tolist() == [-1, 5]


def test_a_folder_is_no_table(rows: hr.Dataset, tmp_path: Path) -> None:
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(hr.Error):
        rows.join(tmp_path / "table.csv", "k", ["p"])


def test_names_as_an_array(rows: hr.Dataset) -> None:
    """As a data frame's columns come: ``frame.columns[1:]``."""
    assert list(rows.join({**SMALL, "q": SMALL["p"]}, "k", np.array(["p", "q"])).fields)[-2:] == ["p", "q"]  # type: ignore[arg-type]
