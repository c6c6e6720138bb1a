"""Scores of one output, logits, and predictions that are NaN: what votes for what, and what is said of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headrace as hr

GROUPS = np.array([0, 0, 0, 1, 1, 2])
SCORES = np.array([0.9, 0.8, 0.1, 0.2, 0.3, 0.7])


def _result(values: np.ndarray, **words) -> dict[str, np.ndarray]:
    reducer = hr.GroupReducer(4, reduce=["vote", "mean", "max"], **words)
    reducer.add(GROUPS, values)
    return reducer.result()["file"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_head_of_one_output_is_a_score(dtype: str) -> None:
    flat, column = _result(SCORES.astype(dtype)), _result(SCORES.astype(dtype)[:, None])
    assert flat["vote"].tolist() == [1, 0, 1, -1]
    for name, values in flat.items():
        np.testing.assert_array_equal(column[name], values)


def test_logits_are_noticed_once_and_have_a_threshold_of_their_own() -> None:
    logits = np.log(SCORES / (1 - SCORES))
    reducer = hr.GroupReducer(4, reduce="vote")
    with pytest.warns(hr.HeadraceWarning, match="threshold=.logits") as caught:
        reducer.add(GROUPS, logits)
        reducer.add(GROUPS, logits)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _result(logits, threshold="logits")["vote"].tolist() == [1, 0, 1, -1]
        _result(SCORES)


@pytest.mark.parametrize("where", ["numpy", "torch", "device"])
@pytest.mark.parametrize("classes", [1, 3])
def test_predictions_that_are_nan_do_not_vote_and_are_counted(where: str, classes: int) -> None:
    values = np.eye(3)[[1, 1, 2, 0, 2, 2]] if classes == 3 else SCORES.copy()
    values[[2, 3, 5]] = np.nan
    reducer = hr.GroupReducer(4, reduce=["vote", "mean", "max"])
    if where == "numpy":
        reducer.add(GROUPS, values)
    else:
        torch = pytest.importorskip("torch")
        if where == "device":
            from headrace._groups.totals import DeviceTotals

            words = {"classes": classes, "of_labels": False, "binary": classes == 1, "as_torch": True, "device": "cpu"}
            reducer._totals = DeviceTotals(4, reducer.reduce, 5, 0.5, words)
            reducer._totals.add(torch.from_numpy(GROUPS), torch.from_numpy(values))
        else:
            reducer.add(torch.from_numpy(GROUPS), torch.from_numpy(values))
    with pytest.warns(hr.HeadraceWarning, match="3 predictions are NaN, in 3 groups"):
        found = {name: np.asarray(array) for name, array in reducer.result()["file"].items()}
    assert found["nan"].tolist() == [1, 1, 1, 0]
    assert found["count"].tolist() == [3, 2, 1, 0]
    assert found["vote"].tolist() == ([1, 2, -1, -1] if classes == 3 else [1, 0, -1, -1])
    assert np.isnan(found["mean"].reshape(4, -1)[:3]).any(1).all()
    assert np.isnan(found["max"].reshape(4, -1)[:3]).any(1).all()


def test_segments_without_a_vote_have_none_to_give() -> None:
    ids = np.indices((1, 3, 2)).reshape(3, -1).T  # (file, long, short) of each row: a row a short segment
    values = np.eye(2)[[0, 0, 1, 1, 1, 1]].astype(float)
    values[2:4] = np.nan  # a whole long segment
    reducer = hr.GroupReducer(
        reduce=["vote"], nested=["short", "long", "file"], sizes={"file": 1, "long": 3, "short": 2}
    )
    reducer.add(ids, values)
    with pytest.warns(hr.HeadraceWarning, match="2 predictions are NaN"):
        found = reducer.result()
    assert found["short"]["vote"].tolist() == [0, 0, -1, -1, 1, 1]
    assert found["long"]["vote"].tolist() == [0, -1, 1]
    assert found["long"]["nan"].tolist() == [0, 2, 0]
    assert found["file"]["vote"].tolist() == [0]
    assert found["file"]["nan"].tolist() == [1]


def test_logits_of_several_classes_are_noticed_where_they_are_compared() -> None:
    logits = np.array([[-3, 0.3], [-2, 0.2]])
    reducer = hr.GroupReducer(1, reduce=["any_above", "vote"])
    with pytest.warns(hr.HeadraceWarning, match="threshold=.logits"):
        reducer.add([0, 0], logits)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.GroupReducer(1, reduce="vote").add([0, 0], logits)  # the largest: no threshold
        right = hr.GroupReducer(1, reduce="any_above", threshold="logits")
        right.add([0, 0], logits)
    assert right.result()["file"]["any_above"].tolist() == [[False, True]]


@pytest.mark.parametrize("levels", [["row", "file"], ["file"]])
def test_any_above_looks_past_what_is_nan(levels: list[str]) -> None:
    values = np.array([[0.9, np.nan], [0.1, np.nan], [0.2, 0.1]])
    sizes = {"file": 1, "row": 3}
    reducer = hr.GroupReducer(reduce=["any_above", "max"], nested=levels, sizes={name: sizes[name] for name in levels})
    reducer.add(np.array([[0, 0], [0, 1], [0, 2]])[:, : len(levels)], values)
    with pytest.warns(hr.HeadraceWarning, match="2 predictions are NaN"):
        found = reducer.result()["file"]
    assert found["any_above"].tolist() == [[True, False]]
    assert np.isnan(found["max"][0, 1])
