"""torchdata's own tests of DataLoader and samplers, run against ``headrace.torch.DataLoader`` if they lie beside it.

Their data become HDF5 files (see torchdata_shim.py), so that Headrace's path is what they try.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("expecttest", reason="expecttest is not installed, which torch's tests import")

FOLDER = Path(__file__).parents[3] / "shared" / "peer_tests" / "torchdata"
LOADERS, SAMPLERS = "test_dataloader.py", "test_sampler.py"

#: Tests of TestDataLoader that a loader of files can run.
RUN = [
    "test_typing",
    "test_invalid_assign_after_init",
    "test_sequential_nonbatch",
    "test_sequential_batch",
    "test_multiple_dataloaders",
    "test_invalid_ctor_args_combinations",
    "test_shuffle",
    "test_shuffle_batch_none",
    "test_shuffle_batch",
    "test_shuffle_reproducibility",
    "test_sequential_workers",
    "test_seqential_batch_workers",
    "test_seqential_batch_workers_prefetch",
    "test_shuffle_workers",
    "test_shuffle_batch_workers",
    "test_shuffle_batch_workers_prefetch",
    "test_sampler",
    "test_batch_sampler",
    "test_random_sampler",
    "test_random_sampler_len_with_replacement",
    "test_random_sampler_len_without_replacement",
    "test_distributed_sampler_invalid_rank",
    "test_duplicating_data_with_drop_last",
    "test_sampler_reproducibility",
    "test_len",
]

_PYTHON_DATA = "its data set is written in Python: torch's own loader loads it"
_PROCESSES = "about worker processes, of which there are none"
_CUDA = "needs CUDA"
_COLLATE = "tests torch's default_collate or default_convert, not a loader"
_ITERABLE = "an IterableDataset: torch's own loader loads it"

#: Why the others of TestDataLoader are left out. The file's other classes test data sets of torch, worker processes,
#: pinning by CUDA, and data sets written in Python.
LEFT_OUT = {
    "test_error_in_init": _PROCESSES,
    "test_fd_limit_exceeded": _PROCESSES,
    "test_bulk_loading_nobatch": _PYTHON_DATA,
    "test_growing_dataset": _PYTHON_DATA,
    "test_sequential_pin_memory": _CUDA,
    "test_shuffle_pin_memory": _CUDA,
    "test_segfault": _PROCESSES,
    "test_no_segfault": _PROCESSES,
    "test_timeout": _PYTHON_DATA,
    "test_large_sampler_indices": _PROCESSES,
    "test_builtin_collection_conversion": _COLLATE,
    "test_iterable_style_dataset": _ITERABLE,
    "test_chain_iterable_style_dataset": _ITERABLE,
    "test_multiprocessing_contexts": _PROCESSES,
    "test_multiprocessing_iterdatapipe": _PROCESSES,
    "test_multiprocessing_iterdatapipe_with_dill": _PROCESSES,
    "test_worker_seed": _PROCESSES,
    "test_worker_seed_reproducibility": _PROCESSES,
    "test_multi_epochs_reproducibility": _PYTHON_DATA,
    "test_worker_init_fn": _PROCESSES,
    "test_get_worker_info": _PROCESSES,
    "test_numpy": _PYTHON_DATA,
    "test_numpy_gen_state": _PROCESSES,
    "test_error": _PYTHON_DATA,
    "test_error_workers": _PROCESSES,
    "test_partial_workers": "looks at the worker processes of the iterator",
    "test_proper_exit": _PROCESSES,
    "test_iterabledataset_len": _ITERABLE,
    "test_numpy_scalars": _COLLATE,
    "test_default_convert_mapping_keep_type": _COLLATE,
    "test_default_convert_sequence_keep_type": _COLLATE,
    "test_default_convert_sequence_dont_keep_type": _COLLATE,
    "test_default_collate_dtype": _COLLATE,
    "test_default_collate_mapping_keep_type": _COLLATE,
    "test_default_collate_sequence_keep_type": _COLLATE,
    "test_default_collate_sequence_dont_keep_type": _COLLATE,
    "test_default_collate_bad_numpy_types": _COLLATE,
    "test_default_collate_numpy_memmap": _COLLATE,
    "test_default_collate_bad_sequence_type": _COLLATE,
    "test_default_collate_shared_tensor": _COLLATE,
    "test_excessive_thread_creation_warning": _PROCESSES,
}


#: Tests of samplers with a loader.
RUN_OF_SAMPLERS = [
    "test_dataloader_state_dict",
    "test_drop_last_effect",
    "test_data_order_with_shuffle",
    "test_data_order_without_shuffle",
    "test_data_distribution_across_replicas",
]
_SAMPLER_ALONE = "looks at torchdata's sampler alone, which knows its own position: a state of Headrace's loader has it"
LEFT_OUT_OF_SAMPLERS = {
    "test_initialization_StatefulDistributedSampler": _SAMPLER_ALONE,
    "test_sampler_state_dict": _SAMPLER_ALONE,
    "test_sampler_load_state_dict": _SAMPLER_ALONE,
    "test_sampler_next_yielded": _SAMPLER_ALONE,
    "test_seed_replicability": "another torch.manual_seed() gives the same order: ranks with seeds of their own would "
    "share rows, so that the seed is 0 unless seed= or generator= gives one",
}


def source(name: str) -> str:
    """A file of the peers; skips where it is absent."""
    if not (FOLDER / name).exists():
        pytest.skip("shared/peer_tests/torchdata does not lie beside the checkout")
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "chosen"),
    [(LOADERS, [*RUN, *LEFT_OUT]), (SAMPLERS, [*RUN_OF_SAMPLERS, *LEFT_OUT_OF_SAMPLERS])],
)
def test_every_test_is_run_or_left_out_for_a_reason(name: str, chosen: list[str]) -> None:
    body = source(name).split("class TestDataLoader(TestCase):")[1].split("\nclass TestDataLoaderDeviceType")[0]
    assert sorted(re.findall(r"^    def (test_\w+)\(", body, re.MULTILINE)) == sorted(chosen)


@pytest.mark.parametrize(("name", "chosen"), [(LOADERS, RUN), (SAMPLERS, RUN_OF_SAMPLERS)])
def test_torchdatas_tests_pass(name: str, chosen: list[str]) -> None:
    source(name)
    nodes = [f"{FOLDER / name}::TestDataLoader::{test}" for test in chosen]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    options = ["-q", "-p", "torchdata_shim", "-p", "no:cacheprovider", "--rootdir", str(FOLDER)]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *nodes],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert f"{len(chosen)} passed" in done.stdout, done.stdout + done.stderr
