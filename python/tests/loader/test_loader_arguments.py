"""Arguments of Loader: contradictions are ValueErrors, and what does not exist yet says so."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_ids import text_of

import headrace as hr

pytestmark = pytest.mark.fast

INVALID: list[dict[str, Any]] = [
    {"batch_size": None},
    {"batch_size": 0},
    {"batch_size": -1},
    {"batch_size": 2.0},
    {"batch_size": True},
    {"batch_size": "512"},
    {"batch_size": 5, "global_batch_size": 5},
    {"global_batch_size": 0, "batch_size": None},
    {"shuffle": "blok"},
    {"shuffle": 1},
    {"shuffle": True, "sampler": [1]},
    {"sampler": [1], "batch_sampler": [[1]]},
    {"batch_sampler": [[1]]},
    {"drop_last": 1},
    {"drop_last": True, "tail": "partial"},
    {"drop_last": True, "tail": "pad"},
    {"tail": "repeat"},
    {"seed": -1},
    {"seed": 2**64},
    {"seed": 1.5},
    {"rank": 0},
    {"rank": 1, "world_size": 1},
    {"rank": -1, "world_size": 2},
    {"world_size": 0},
    {"world_size": 2},
    {"rank": 0, "world_size": 2**20},
    {"global_batch_size": 7, "batch_size": None, "rank": 0, "world_size": 2},
    {"shuffle_buffer": "1GiB"},
    {"sampler": []},
    {"sampler": [-1]},
    {"sampler": [0, 10**9]},
    {"sampler": [0.5]},
    {"sampler": iter([1, 2])},
    {"sampler": 5},
    {"sampler": hr.Weighted([1, 2])},
    {"batch_sampler": [[1], [], [4]], "batch_size": None},
    {"batch_sampler": [[1], [2, 3]], "batch_size": None, "tail": "pad"},
    {"batch_sampler": [[1], [2, 3]], "batch_size": None, "tail": "partial"},
    {"batch_sampler": [[1], [2, 3]], "batch_size": None, "drop_last": True},
    {"group_by": "file", "batch_size": None, "tail": "partial"},
    {"batch_sampler": [[1], [2, 3]], "batch_size": None, "rank": 0, "world_size": 2},
    {"shuffle_buffer": -1, "shuffle": True},
    {"shuffle_buffer": [4, 4], "shuffle": True},
    {"memory": 0},
    {"memory": -5},
    {"memory": "lots"},
    {"memory": 2.5},
    {"threads": 0},
    {"threads": 1.5},
    {"cache": "rma"},
    {"cache": ""},
    {"cache": "none", "share": "host"},
    {"share": "node"},
    {"framework": "tensorflow"},
    {"batch_format": "list"},
    {"provenance": "yes"},
    {"timeout": -1},
    {"timeout": "soon"},
    {"timeout": float("nan")},
    {"timeout": float("inf")},
]


def test_words_of_several_kinds(jets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for cache in ("~/kept", Path("~/kept")):
        assert hr.Loader(jets.open(), 50, cache=cache)._options["cache"] == str(tmp_path / "kept")
    hr.cache_build(jets.paths[0], "~/built")
    assert (tmp_path / "built").is_dir()
    assert hr.check_memory(jets.open(), batch_size=50, device=None).to_dict()
    names = inspect.signature(hr.Loader).parameters.keys() - {"dataset", "batch_size"}
    assert len(hr.Loader(jets.open(), 50, **dict.fromkeys(names))) > 0
    for options in ({"shuffle": True, "shuffle_buffer": hr.ShuffleShape}, {"cache": ""}, {"cache": "\ud800"}):
        with pytest.raises(hr.InvalidArgumentError, match=f"{next(reversed(options))} must be"):
            hr.Loader(jets.open(), 50, **options)
    with pytest.raises(
        hr.InvalidArgumentError, match=r"batch must be .*For batches of so many samples give batch_size"
    ):
        hr.Loader(jets.open(), batch=hr.ByTokens)
    with pytest.raises(hr.InvalidArgumentError, match="group_by is missing"):
        hr.Loader(jets.open(), 8, sampler=[1, 2], max_items=3)
    with pytest.raises(hr.InvalidArgumentError, match="groups are shuffled whole"):
        hr.Loader(jets.open(), group_by="file", shuffle_buffer="1KiB")


@pytest.mark.parametrize("options", INVALID, ids=text_of)
def test_contradictions_are_value_errors(jets, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        hr.Loader(jets.open(), **{"batch_size": 50, **options})
    assert isinstance(caught.value, hr.InvalidArgumentError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_error": "skip"}, "headrace verify"),
        ({"rank": 2, "world_size": 2}, "0 to 1"),
        ({"rank": 0.5, "world_size": 2}, "Ranks count from 0"),
        ({"rank": 0, "world_size": 0}, "number of processes"),
        ({"rank": 0}, "Give both"),
        ({"shuffle": "blok"}, "Did you mean 'block'?"),
        ({"shuffle": []}, "Leave it out for false."),
        ({"framework": "jax"}, "Leave it out for numpy."),
        ({"tail": "repeat"}, "Leave it out for partial."),
        ({"drop_last": True, "tail": "pad"}, "Give one"),
        ({"cache": "none", "share": "host"}, "Leave one"),
        ({"sampler": 5}, "Give a list"),
        ({"lookahead": 2}, "Give sampler="),
        ({"timeout": -1}, "wait without limit"),
    ],
    ids=str,
)
def test_the_cure_is_an_attribute(jets, options: dict[str, Any], words: str) -> None:
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.Loader(jets.open(), **{"batch_size": 50, **options})
    assert words in (caught.value.hint or "")
    assert str(caught.value) == f"{caught.value.message}. {caught.value.hint}"


def test_exact_shuffle_is_a_permutation(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle="exact")
    first, second = (np.concatenate([batch["y"] for batch in loader]) for _ in range(2))
    assert np.array_equal(np.sort(first), np.arange(len(jets)))
    assert np.array_equal(np.sort(second), np.arange(len(jets)))
    assert not np.array_equal(first, np.arange(len(jets)))
    assert not np.array_equal(first, second)


def test_nearest_name_is_offered(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="Did you mean 'block'"):
        hr.Loader(jets.open(), 50, shuffle="blok")


def test_numpy_integers_and_texts_are_welcome(jets) -> None:
    loader = hr.Loader(
        jets.open(), np.int64(50), seed=np.uint64(3), memory="0.25 gib", threads=np.int8(2), timeout=np.float32(30)
    )
    assert loader.report().memory.budget_bytes == 1 << 28
    assert len(loader) == 13


def test_too_small_a_budget_names_the_smallest(jets) -> None:
    with pytest.raises(MemoryError) as caught:
        hr.Loader(jets.open(), 50, memory=1000)
    assert isinstance(caught.value, hr.OutOfBudgetError)
    assert "iB" in str(caught.value)


def test_torch_that_is_not_installed(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(hr.UnsupportedError, match="pip install torch"):
        hr.Loader(jets.open(), 50, framework="torch")


def test_numpy_does_not_import_torch(run_python) -> None:
    run_python("""
        import sys
        for batch in hr.Loader(PATHS, 50):
            pass
        assert "torch" not in sys.modules
    """)


@pytest.mark.parametrize("text", ["a\ud800b", "\udcff\ud83d", "a\0b"])
def test_names_that_the_engine_cannot_have_are_wrong_arguments(jets, text: str) -> None:
    data = jets.open()
    loader = hr.Loader(data, 50)
    for call in (
        lambda: hr.open(jets.glob, fields=[text]),
        lambda: hr.open(jets.glob, fields={"x": text}),
        lambda: hr.open(jets.glob, fields=text),
        lambda: hr.Balanced(text),
        lambda: data.split({"train": 0.5}, stratify=text),
        lambda: loader.order_report(by=text),
    ):
        with pytest.raises(hr.InvalidArgumentError, match="must be"):
            call()


def test_a_loader_has_no_samples_by_number(jets) -> None:
    loader = hr.Loader(jets.open(), 20)
    with pytest.raises(TypeError, match=r"Iterate over it in place of a DataLoader.*use loader\.dataset"):
        loader[0]
