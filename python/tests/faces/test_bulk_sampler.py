"""torch's own way to read in bulk: ``sampler=BatchSampler(...)`` with ``batch_size=None``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler  # noqa: E402

import headrace as hr  # noqa: E402
from headrace.torch import DataLoader  # noqa: E402

ROWS = 500
X = np.random.default_rng(12).random((ROWS, 5), "f4")


class Bulk(torch.utils.data.Dataset):
    """What users have: a row, or a list of rows, gives arrays."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, rows: Any) -> dict[str, Any]:
        return {"x": torch.from_numpy(X[rows]), "id": torch.as_tensor(rows)}


class Windows:
    """A sampler of one's own: each item is a list, and each pass draws anew."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)

    def __len__(self) -> int:
        return 7

    def __iter__(self) -> Any:
        for start in torch.randint(0, ROWS - 40, (7,), generator=self.generator).tolist():
            yield list(range(start, start + 40))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    folder = tmp_path_factory.mktemp("bulk")
    np.save(folder / "x.npy", X)
    np.save(folder / "id.npy", np.arange(ROWS))
    return hr.open(folder / "x.npy", fields={"x": "x", "id": f"{folder}/id.npy::"})


SAMPLERS = {
    "in order": lambda: BatchSampler(SequentialSampler(range(ROWS)), 50, True),
    "a smaller last batch": lambda: BatchSampler(SequentialSampler(range(ROWS)), 64, False),
    "random": lambda: BatchSampler(RandomSampler(range(ROWS), generator=torch.Generator().manual_seed(1)), 64, False),
    "of one's own": Windows,
    "a list": lambda: [[3, 1], [499], list(range(200))],
    "single rows": lambda: [7, 3, 499],
    "single rows, random": lambda: RandomSampler(range(ROWS), generator=torch.Generator().manual_seed(1)),
}


@pytest.mark.parametrize("kind", SAMPLERS)
def test_batches_are_those_of_torch_epoch_after_epoch(data: hr.Dataset, kind: str) -> None:
    theirs = torch.utils.data.DataLoader(Bulk(), sampler=SAMPLERS[kind](), batch_size=None)
    with DataLoader(data, sampler=SAMPLERS[kind](), batch_size=None) as ours:
        for _ in range(3):
            mine, want = list(ours), list(theirs)
            assert len(mine) == len(want)
            for a, b in zip(mine, want, strict=True):
                assert a["x"].shape == b["x"].shape and torch.equal(a["x"], b["x"])
                assert a["id"].tolist() == b["id"].tolist()


def test_it_is_resumed_between_batches(data: hr.Dataset) -> None:
    with DataLoader(data, sampler=SAMPLERS["random"](), batch_size=None) as loader:
        whole = [b["id"].tolist() for b in loader]
    with DataLoader(data, sampler=SAMPLERS["random"](), batch_size=None) as loader:
        batches = iter(loader)
        first = [next(batches)["id"].tolist() for _ in range(3)]
        state = loader.state_dict()
    with DataLoader(data, sampler=SAMPLERS["random"](), batch_size=None) as loader:
        loader.load_state_dict(state)
        assert first + [b["id"].tolist() for b in loader] == whole


def test_collate_fn_gets_the_batch_as_in_torch(data: hr.Dataset) -> None:
    words: dict[str, Any] = {"batch_size": None, "collate_fn": lambda batch: batch["x"].sum(1)}
    theirs = list(torch.utils.data.DataLoader(Bulk(), sampler=SAMPLERS["in order"](), **words))
    with DataLoader(data, sampler=SAMPLERS["in order"](), **words) as loader:
        for a, b in zip(loader, theirs, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("sampler", [[3, [4, 5]], [[4, 5], 3]])
def test_rows_and_lists_together_are_refused(data: hr.Dataset, sampler: list[Any]) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="row numbers"):
        DataLoader(data, sampler=sampler, batch_size=None)
