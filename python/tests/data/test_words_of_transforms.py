"""The words of transforms: what they mean, and that what does nothing is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T
from headrace._support.argument_hints import SPEC_AUGMENT_KNOBS

pytestmark = pytest.mark.fast

SENTINEL = -999.0
TORCHAUDIO = SPEC_AUGMENT_KNOBS["torchaudio"]


@pytest.fixture(scope="module")
def jets(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Six pairs of four particles: all there, and the triangle of three first."""
    path = tmp_path_factory.mktemp("words") / "adj.npy"
    np.save(path, np.array([[1, 2, 3, 4, 5, 6], [1, 2, 4, SENTINEL, SENTINEL, SENTINEL]], np.float32))
    return hr.open(path, fields={"adj": ""})


def mel(folder: Path, frames: int, freqs: int = 32) -> hr.Dataset:
    np.save(folder / "mel.npy", np.ones((40, freqs, frames), np.float32))
    return hr.open(folder / "mel.npy", fields={"mel": ""})


def test_a_layout_says_where_pairs_are(jets: hr.Dataset) -> None:
    packed = jets.map(T.SymmetricPairs("adj", "triu_n", 4, SENTINEL, -2.0))[1]["adj"]
    assert packed.tolist() == [[0, 1, 2, -2], [1, 0, 4, -2], [2, 4, 0, -2], [-2, -2, -2, -2]]
    with pytest.raises(hr.CorruptDataError):
        jets.map(T.SymmetricPairs("adj", "triu_max", sentinel=SENTINEL))[1]
    whole = jets.map(T.SymmetricPairs("adj"))[0]["adj"]  # without a sentinel: triu_max
    assert whole.tolist() == [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]]


def test_the_engine_has_the_words_that_were_typed(jets: hr.Dataset) -> None:
    data = jets.map(
        T.SymmetricPairs("adj", "triu_n", 4, SENTINEL, -2.0, to="pairs"),
        T.Mask("adj", fill=SENTINEL),
        T.Standardize("adj", 0.0, 1.0, pad_feature=3, fill=SENTINEL),
    )
    for words in ("layout='triu_n'", "n=4", "fill=-2", "Mask(adj, fill=-999", "Standardize(adj, fill=-999"):
        assert words in str(data)
    with pytest.raises(hr.CorruptDataError, match="layout='triu_n'"):
        jets.map(T.SymmetricPairs("adj", "triu_max", 4, SENTINEL))[1]
    for name, value in (("layout", "triangle"), ("particles", 4)):
        with pytest.raises(hr.InvalidArgumentError, match=name):
            jets.map(T.Transform("SymmetricPairs", "adj", **{name: value}))


def test_fill_is_what_is_looked_for(jets: hr.Dataset) -> None:
    masked = jets.map(T.Mask("adj", fill=SENTINEL, count="n"))[:]
    assert masked["n"].tolist() == [6, 3]
    assert masked["mask"][1].tolist() == [True] * 3 + [False] * 3
    scaled = jets.map(T.Standardize("adj", 1.0, 2.0, pad_feature=3, fill=SENTINEL))[:]["adj"]
    assert scaled.tolist() == [[0, 0.5, 1, 1.5, 2, 2.5], [1, 2, 4, SENTINEL, SENTINEL, SENTINEL]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: T.SymmetricPairs("adj", layout="triu_m"), "layout must be one of 'triu_max', 'triu_n', not 'triu_m'"),
        (lambda: T.SymmetricPairs("adj", -999.0), "layout must be one of"),
        (lambda: T.SymmetricPairs("adj", layout="triu_n"), "layout='triu_n' needs sentinel="),
        (lambda: T.SymmetricPairs("adj", mask="m"), "mask= needs sentinel="),
        (lambda: T.Standardize("adj", 0.0, 1.0, fill=1.0), "fill= does nothing without pad_feature="),
        (lambda: T.SpecAugment("mel"), "neither time= nor freq= is given"),
        (lambda: T.SpecAugment("mel", time=0, freq=0), "neither time= nor freq= is given"),
        (lambda: T.SpecAugment("mel", time=2, num_time=0), "time=2 does nothing with num_time=0"),
        (lambda: T.SpecAugment("mel", time=2, num_freq=3), "num_freq=3 does nothing without freq="),
    ],
)
def test_what_says_nothing_is_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        make()


@pytest.mark.parametrize(
    ("frames", "words", "text"),
    [
        (1, {"time": 3}, "time is 3, and a sample of 'mel' has one frame, .* Leave time= out"),
        (1, {"time": 1, "freq": 4}, "time is 1, and a sample of 'mel' has one frame"),
        (8, {"freq": 40}, "freq is 40, and a sample of 'mel' has 32 frequencies. Give less than 32"),
        (8, {"freq": 32}, "freq is 32"),
        (8, {"time": 8}, "time is 8, and a sample of 'mel' has 8 frames"),
    ],
)
def test_stripes_fit_the_field(tmp_path: Path, frames: int, words: dict[str, int], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        mel(tmp_path, frames).map(T.SpecAugment("mel", **words))


def test_stripes_fit_the_field_as_it_is_at_their_place(tmp_path: Path) -> None:
    data, stripes = mel(tmp_path, frames=4), T.SpecAugment("turned", time=20)
    assert not data.map(T.Transpose("mel", to="turned"), stripes)[:]["turned"].all()
    with pytest.raises(hr.InvalidArgumentError, match="time is 20, and a sample of 'turned' has 4 frames"):
        data.map(T.Clip("mel", to="turned"), stripes, T.Transpose("turned"))
    assert data.map(T.SpecAugment("mel", time=3, freq=31))[:]["mel"].any(axis=(1, 2)).all()


@pytest.mark.parametrize("name", TORCHAUDIO)
def test_names_of_torchaudio_are_told_ours(name: str) -> None:
    with pytest.raises(TypeError) as caught:
        T.SpecAugment("mel", **{name: 3})
    assert isinstance(caught.value, hr.UnknownArgumentError)
    assert caught.value.hint == TORCHAUDIO[name]


def test_a_name_of_none_is_told_the_nearest() -> None:
    with pytest.raises(hr.UnknownArgumentError, match="Did you mean 'freq'"):
        T.SpecAugment("mel", freqs=3)
