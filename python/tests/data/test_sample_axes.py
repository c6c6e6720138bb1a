"""Samples that are cells of several axes, and values that they share: against h5py and reshape()."""

import itertools
import pickle

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast


def _values(shape, dtype="f4", seed=0):
    count = int(np.prod(shape))
    return (np.random.default_rng(seed).permutation(count) + 1).astype(dtype).reshape(shape)


def _write(path, seed=0, *, shape=(7, 5, 3, 4, 2), chunks=None, label_chunks=None, compression=None, dtype="f4"):
    mel = _values(shape, dtype, seed)
    labels = _values(shape[:1], "i8", seed + 1)
    parts = _values((*shape[:2], 2), "i4", seed + 2)  # two numbers for each (recording, long)
    with h5py.File(path, "w") as file:
        file.create_dataset("mel", data=mel, chunks=chunks, compression=compression if chunks else None)
        file.create_dataset("labels", data=labels, chunks=label_chunks)
        file.create_dataset("parts", data=parts)
    return mel, labels, parts


def _expected(mel, labels, parts, axes=3):
    samples = int(np.prod(mel.shape[:axes]))
    return {
        "mel": mel.reshape(samples, *mel.shape[axes:]),
        "y": np.repeat(labels, samples // len(labels)),
        "p": np.repeat(parts.reshape(-1, 2), samples // (len(labels) * parts.shape[1]), axis=0),
    }


def _open(paths, **more):
    return hr.open(paths, fields={"mel": "mel"}, sample_axes=3, broadcast={"y": "labels", "p": "parts"}, **more)


def _same(got, expected):
    for name, values in expected.items():
        np.testing.assert_array_equal(got[name], values, err_msg=name)


CHUNKS = [
    None,  # contiguous
    (2, 5, 3, 4, 2),  # whole recordings
    (7, 5, 3, 4, 2),  # one chunk
    (1, 2, 3, 4, 2),  # part of a recording, which does not divide it
    (1, 5, 1, 4, 2),  # one short index of a recording
    (3, 2, 2, 4, 2),  # cuts everything
    (3, 2, 2, 3, 1),  # also across the sample
    (7, 1, 1, 4, 2),  # one cell of every recording
    (1, 1, 1, 4, 2),  # a chunk a sample
    (1, 1, 2, 2, 2),
    True,  # whatever h5py takes
]


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_reading_is_reshaping(tmp_path, chunks, compression):
    arrays = _write(tmp_path / "a.h5", chunks=chunks, compression=compression, label_chunks=(3,) if chunks else None)
    data = _open(tmp_path / "a.h5")
    expected = _expected(*arrays)
    assert len(data) == 105
    assert data.sample_shape == ((7, 5, 3),)
    assert data.fields["mel"].shape == (4, 2)
    assert data.fields["y"].shape == ()
    assert data.fields["p"].shape == (2,)
    _same(data[:], expected)
    rows = np.random.default_rng(1).integers(0, 105, 60)
    _same(data[rows], {name: values[rows] for name, values in expected.items()})
    _same(data[17], {name: values[17] for name, values in expected.items()})
    np.testing.assert_array_equal(data["y"][3:40], expected["y"][3:40])
    np.testing.assert_array_equal(data.sample_index(), np.stack(np.unravel_index(np.arange(105), (7, 5, 3)), axis=1))


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_every_order_and_cache_delivers_the_reshaped_rows(tmp_path, chunks):
    first = _write(tmp_path / "a0.h5", 0, chunks=chunks, compression="gzip", label_chunks=(2,))
    second = _write(tmp_path / "a1.h5", 9, shape=(7, 5, 3, 4, 2), chunks=chunks, compression="gzip")
    together = [_expected(*first), _expected(*second)]
    expected = {name: np.concatenate([part[name] for part in together]) for name in together[0]}
    data = _open(tmp_path / "a?.h5")
    for shuffle, cache in itertools.product([False, True, "exact"], ["none", "auto", "ram", str(tmp_path / "cache")]):
        with hr.Loader(
            data, batch_size=13, shuffle=shuffle, seed=5, cache=cache, memory="64MiB", threads=2, provenance=True
        ) as loader:
            for _ in range(2):
                rows = []
                for batch in loader:
                    here = batch["_rows"][:, 0] * 105 + batch["_rows"][:, 1]
                    _same(batch, {name: values[here] for name, values in expected.items()})
                    rows.extend(here)
                assert sorted(rows) == list(range(210))
                if shuffle is False:
                    assert rows == list(range(210))


def test_extents_may_differ_from_file_to_file(tmp_path):
    shapes = [(4, 5, 3, 2), (1, 2, 7, 2), (3, 1, 1, 2)]
    parts, places, recordings = [], [], 0
    for i, shape in enumerate(shapes):
        arrays = _write(tmp_path / f"a{i}.h5", 10 * i, shape=shape, chunks=(1, 2, 2, 2) if i < 1 else None)
        parts.append(_expected(*arrays))
        place = np.stack(np.unravel_index(np.arange(np.prod(shape[:3])), shape[:3]), axis=1)
        places.append(place + np.array([recordings, 0, 0]))
        recordings += shape[0]
    expected = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    data = _open(tmp_path / "a*.h5")
    assert data.sample_shape == ((4, 5, 3), (1, 2, 7), (3, 1, 1))
    _same(data[:], expected)
    np.testing.assert_array_equal(data.sample_index(), np.concatenate(places))
    rows = [76, 0, 60, 59, 74]
    np.testing.assert_array_equal(data.sample_index(rows), np.concatenate(places)[rows])
    chosen = data.select(np.arange(1, 77, 3))
    np.testing.assert_array_equal(chosen.sample_index(), np.concatenate(places)[1::3])
    _same(chosen[:], {name: values[1::3] for name, values in expected.items()})


def test_it_resumes_and_divides_over_ranks(tmp_path):
    arrays = _write(tmp_path / "a.h5", chunks=(3, 2, 2, 3, 1), compression="gzip", label_chunks=(4,))
    expected = _expected(*arrays)
    data = _open(tmp_path / "a.h5")

    def batches(**more):
        return hr.Loader(data, batch_size=8, shuffle=True, seed=3, **more)

    whole = list(batches())
    loader = batches()
    steps = iter(loader)
    for _ in range(5):
        next(steps)
    later = batches()
    later.load_state_dict(loader.state_dict())
    for got, wanted in zip(later, whole[5:], strict=True):
        _same(got, wanted)
    of_ranks = [list(batches(rank=rank, world_size=2)) for rank in range(2)]
    keys = np.sort(np.concatenate([batch["mel"][:, 0, 0] for rank in of_ranks for batch in rank]))
    np.testing.assert_array_equal(np.unique(keys), np.sort(expected["mel"][:, 0, 0]))


def test_copies_pickle_and_open_again(tmp_path):
    arrays = _write(tmp_path / "a.h5", chunks=(2, 2, 2, 4, 2))
    data = hr.open(
        tmp_path / "a.h5", fields={"mel": "mel"}, sample_axes=3, broadcast={"y": "labels", "p": ("parts", 2)}
    )
    again = pickle.loads(pickle.dumps(data))
    assert again.sample_shape == data.sample_shape
    assert list(again.fields) == ["mel", "y", "p"]
    _same(again[:], _expected(*arrays))
    assert "p" in repr(again)


def test_a_label_of_every_sample_may_be_broadcast_too(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = _values((3, 4, 2))
        file["each"] = _values((3, 4), "i4", 1)
        file["one_hot"] = _values((3, 4), "i4", 2)
        file["records"] = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("a", "i4"), ("b", "f8")])
        each, one_hot = file["each"][:], file["one_hot"][:]
    data = hr.open(
        tmp_path / "a.h5",
        fields=["x"],
        sample_axes=2,
        broadcast={"each": "each", "wide": ("one_hot", 1), "r": "records"},
    )
    got = data[:]
    np.testing.assert_array_equal(got["each"], each.reshape(12))
    np.testing.assert_array_equal(got["wide"], np.repeat(one_hot, 4, axis=0))
    np.testing.assert_array_equal(got["r.a"], np.repeat([1, 3, 5], 4))
    np.testing.assert_array_equal(got["r.b"], np.repeat([2.5, 4.5, 6.5], 4))


def test_labels_beside_the_files_and_npy(tmp_path):
    mel = _values((4, 3, 2, 5))
    labels = np.arange(4)
    np.save(tmp_path / "mel.npy", mel)
    np.save(tmp_path / "labels.npy", labels)
    np.savez_compressed(tmp_path / "mel.npz", mel=mel)
    for path in ("mel.npy", "mel.npz"):
        data = hr.open(
            tmp_path / path, fields=["mel"], sample_axes=3, broadcast={"y": f"{tmp_path / 'labels.npy'}::labels"}
        )
        _same(data[:], {"mel": mel.reshape(24, 5), "y": np.repeat(labels, 6)})
        again = pickle.loads(pickle.dumps(data))
        _same(again[5:9], {"mel": mel.reshape(24, 5)[5:9], "y": np.repeat(labels, 6)[5:9]})


@pytest.mark.parametrize("dtype", ["i1", "f2", ">f8", ">u2"])
def test_types_and_records(tmp_path, dtype):
    values = _values((5, 4, 3), dtype)
    records = np.zeros((5, 4), [("a", "<i2"), ("b", "<f4", (3,))])
    records["a"], records["b"] = _values((5, 4), "i2", 1), _values((5, 4, 3), "f4", 2)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(2, 3, 2), shuffle=True, compression="gzip")
        file.create_dataset("plain", data=values)
        file.create_dataset("r", data=records, chunks=(3, 3))
    data = hr.open(tmp_path / "a.h5", fields=["x", "plain", "r"], sample_axes=2)
    native = np.dtype(dtype).newbyteorder("=")
    _same(
        data[:],
        {
            "x": values.reshape(20, 3).astype(native),
            "plain": values.reshape(20, 3).astype(native),
            "r.a": records["a"].reshape(20),
            "r.b": records["b"].reshape(20, 3),
        },
    )


def test_virtual_and_never_written_arrays(tmp_path):
    mel = _values((6, 4, 2, 3))
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["mel"] = mel
    layout = h5py.VirtualLayout(shape=mel.shape, dtype="f4")
    layout[:] = h5py.VirtualSource(tmp_path / "source.h5", "mel", shape=mel.shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("mel", layout)
        file.create_dataset("empty", (6, 4, 2), "i4", fillvalue=7)
        file.create_dataset("holes", (6, 4, 2), "i4", fillvalue=5, chunks=(4, 3, 2))
        file["holes"][0, 0] = 1
        holes = file["holes"][:]
    data = hr.open(tmp_path / "a.h5", fields=["mel", "empty", "holes"], sample_axes=3)
    _same(data[:], {"mel": mel.reshape(48, 3), "empty": np.full(48, 7), "holes": holes.reshape(48)})


def test_a_chunk_is_decoded_once(tmp_path):
    shape = (64, 16, 8, 32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("mel", data=_values(shape), chunks=(16, 4, 4, 32), compression="gzip")
        file.create_dataset("labels", data=np.arange(64), chunks=(64,))
    data = hr.open(tmp_path / "a.h5", fields=["mel"], sample_axes=3, broadcast={"y": "labels"})
    for shuffle in (False, True):
        with hr.Loader(data, batch_size=256, shuffle=shuffle, cache="none") as loader:
            for _ in loader:
                pass
            assert loader.report().to_dict()["read_amplification"] == pytest.approx(1.0, abs=0.02)


def test_damage_names_the_chunk_and_spares_the_others(tmp_path):
    path = tmp_path / "a.h5"
    mel = _values((4, 6, 2, 3))
    with h5py.File(path, "w") as file:
        chunks = file.create_dataset("mel", data=mel, chunks=(2, 3, 1, 3), compression="gzip")
        where = chunks.id.get_chunk_info_by_coord((2, 3, 1, 0))
    with path.open("r+b") as file:
        file.seek(where.byte_offset)
        file.write(b"\xff" * where.size)
    data = hr.open(path, fields=["mel"], sample_axes=3)
    bad = np.zeros((4, 6, 2), bool)
    bad[2:, 3:, 1] = True
    good = np.flatnonzero(~bad.ravel())
    np.testing.assert_array_equal(data[good]["mel"], mel.reshape(-1, 3)[good])
    with pytest.raises(hr.CorruptDataError, match=r"\(1,1,1,0\)"):
        data[int(np.flatnonzero(bad.ravel())[0])]
    with hr.Loader(data.select(good), batch_size=5, shuffle=True, cache="none") as loader:
        assert sum(len(batch["mel"]) for batch in loader) == len(good)


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["mel"] = _values((4, 3, 2, 5))
        file["labels"] = np.arange(4)
        file["other"] = _values((4, 2, 3, 5))
        file["five"] = np.arange(5)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["mel"] = _values((6, 3, 2, 5))
        file["labels"] = np.arange(4)

    def refused(match, paths="a.h5", error=hr.InvalidArgumentError, **more):
        with pytest.raises(error, match=match):
            hr.open(tmp_path / paths, **more)

    refused(r"fields that are chosen", sample_axes=3)
    refused(r"labels.*sample_axes=3 of an array of shape \(4\).*broadcast=", fields=["mel", "labels"], sample_axes=3)
    refused(r"mel.*sample_axes=6 of an array of shape \(4, 3, 2, 5\).*It has 4 axes", fields=["mel"], sample_axes=6)
    refused(r"other.*\(4, 2, 3, 5\) does not begin.*\(4, 3, 2\)", fields=["mel", "other"], sample_axes=3)
    refused(r"five.*\(5\) does not begin", fields=["mel"], sample_axes=3, broadcast={"y": "five"})
    refused(r"broadcast over 2", fields=["mel"], sample_axes=1, broadcast={"y": ("labels", 2)})
    refused(r"does not begin", fields=["mel"], sample_axes=3, broadcast={"y": ("labels", 2)})
    refused(r"no such|lebels", error=hr.FieldMissingError, fields=["mel"], broadcast={"y": "lebels"})
    refused(r"two fields are named 'mel'", fields=["mel"], sample_axes=3, broadcast={"mel": "labels"})
    refused(r"labels.*does not begin.*\(6\)", "[ab].h5", fields=["mel"], sample_axes=3, broadcast={"y": "labels"})
    refused(r"sample_axes must be at least 1", fields=["mel"], sample_axes=0)
    refused(r"sample_axes must be a whole number", fields=["mel"], sample_axes="3")
    refused(r"broadcast must be a dict", fields=["mel"], broadcast=["labels"])
    refused(r"broadcast must hold", fields=["mel"], broadcast={"y": 3})
    refused(r"the axes of 'y' must be at least 1", fields=["mel"], broadcast={"y": ("labels", 0)})
    data = hr.open(tmp_path / "a.h5", fields=["mel"], sample_axes=4)
    assert data.fields["mel"].shape == ()
    with pytest.raises(hr.IndexOutOfRangeError):
        data.sample_index([120])


def test_what_is_kept_for_other_axes_is_not_taken(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=_values((4, 4, 4)), chunks=(2, 2, 2), compression="gzip")
        x = file["x"][:]
    for axes in (1, 2, 3, 2):
        with hr.Loader(
            hr.open(tmp_path / "a.h5", fields=["x"], sample_axes=axes), batch_size=5, cache=str(tmp_path / "kept")
        ) as loader:
            got = np.concatenate([batch["x"] for batch in loader])
        np.testing.assert_array_equal(got, x.reshape(-1, *x.shape[axes:]))


@pytest.mark.parametrize("cache", ["ram", "auto", "none"])
@pytest.mark.parametrize(("shape", "chunks"), [((11, 4, 3, 2), (7, 2, 3, 2)), ((60, 4, 3, 5), (7, 2, 3, 5))])
def test_a_chunk_at_the_edge_that_has_as_many_cells_as_lie_between_its_first_and_last(tmp_path, shape, chunks, cache):
    """It has the bytes of a run of samples, and is none."""
    values = _values(shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=chunks, compression="gzip")
    x = values.reshape(-1, *shape[3:])
    with hr.Loader(
        hr.open(tmp_path / "a.h5", ["x"], sample_axes=3), 50, shuffle=True, cache=cache, provenance=True
    ) as loader:
        for batch in loader:
            np.testing.assert_array_equal(batch["x"], x[batch["_rows"][:, 1]])


def test_any_chunks_of_any_shape(tmp_path):
    """Property: whatever the extents, chunks and rows are, it is what reshape() makes of it."""
    random = np.random.default_rng(4)
    for trial in range(60):
        axes = int(random.integers(1, 4))
        rank = axes + int(random.integers(0, 3))
        shape = tuple(int(n) for n in random.integers(1, 7, rank))
        chunks = tuple(int(random.integers(1, n + 1)) for n in shape)
        values = _values(shape, "i4", trial)
        prefix = int(random.integers(1, axes + 1))
        shared = _values(shape[:prefix], "i8", trial + 1)
        maximum = tuple(None if random.random() < 0.3 else n for n in shape)
        padded = tuple(n + int(random.integers(0, 3)) if m is None else n for n, m in zip(chunks, maximum, strict=True))
        path = tmp_path / f"{trial}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=values, chunks=padded, maxshape=maximum, compression="gzip")
            file.create_dataset("y", data=shared, chunks=chunks[:prefix] if trial % 2 else None)
        note = f"{shape} in {padded}, {axes} axes, values of {prefix}"
        data = hr.open(path, fields=["x"], sample_axes=axes, broadcast={"y": ("y", prefix)})
        x = values.reshape(-1, *shape[axes:])
        y = np.repeat(shared.ravel(), len(x) // shared.size)
        got = data[:]
        np.testing.assert_array_equal(got["x"], x, err_msg=note)
        np.testing.assert_array_equal(got["y"], y, err_msg=note)
        rows = random.integers(0, len(x), 9)
        np.testing.assert_array_equal(data[rows]["x"], x[rows], err_msg=note)
        np.testing.assert_array_equal(data[rows]["y"], y[rows], err_msg=note)
        for cache in ("auto", ["none", "ram"][trial % 2]):
            with hr.Loader(data, batch_size=4, shuffle=True, seed=trial, cache=cache, provenance=True) as loader:
                count = 0
                for batch in loader:
                    at = batch["_rows"][:, 1]
                    np.testing.assert_array_equal(batch["x"], x[at], err_msg=note)
                    np.testing.assert_array_equal(batch["y"], y[at], err_msg=note)
                    count += len(at)
                assert count == len(x), note


def test_run_files_have_the_same_words(tmp_path):
    arrays = _write(tmp_path / "a.h5", chunks=(2, 5, 3, 4, 2))
    (tmp_path / "run.yaml").write_text(
        "data: {files: a.h5, fields: {mel: mel}, sample_axes: 3, broadcast: {y: labels, p: parts}}\n"
        "loader: {batch_size: 50}\n"
    )
    with hr.load_run(tmp_path / "run.yaml") as loader:
        got = list(loader)
    expected = _expected(*arrays)
    _same({name: np.concatenate([batch[name] for batch in got]) for name in expected}, expected)
    for bad in ("sample_axes: 0", "sample_axes: 65", "sample_axes: three", "broadcast: labels", "sample_axis: 3"):
        (tmp_path / "bad.yaml").write_text(
            f"data: {{files: a.h5, fields: {{mel: mel}}, {bad}}}\nloader: {{batch_size: 5}}\n"
        )
        with pytest.raises(hr.InvalidArgumentError, match=bad.split(":")[0]):
            hr.load_run(tmp_path / "bad.yaml")
