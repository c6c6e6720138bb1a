"""One of several processes that load global batches over local CPU devices: see test_jax_processes.py.

jax_process.py FOLDER PORT PROCESSES NUMBER WORDS, WORDS: JSON of data, run, spec, mesh, order, steps, tail, restore.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import headrace as hr
from headrace.jax import Loader


def pieces(batch: dict[str, jax.Array]) -> list[dict[str, Any]]:
    """The rows and columns of the global array that this process has, and what is there."""
    array = batch["tokens"]
    shards = []
    for shard in array.addressable_shards:
        spans = [part.indices(size)[:2] for part, size in zip(shard.index, array.shape, strict=True)]
        shards.append({"device": shard.device.id, "spans": spans, "values": np.asarray(shard.data).tolist()})
    return shards


def main(folder: Path, port: int, processes: int, number: int, words: dict[str, Any]) -> None:
    if processes > 1:
        jax.distributed.initialize(f"localhost:{port}", num_processes=processes, process_id=number)
    shape = tuple(words["mesh"])
    devices = np.array(jax.devices())[words.get("order", slice(None))].reshape(shape)
    mesh = Mesh(devices, ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    windows = hr.open_tokens(words["data"], vocab_size=50_257).windows(16)
    spec = PartitionSpec(*words["spec"])
    loader = Loader(
        windows, 12, mesh=mesh, spec=spec, shuffle=True, seed=5, num_epochs=2, ahead=1, tail=words.get("tail")
    )
    batches = iter(loader)
    if restore := words.get("restore"):
        batches.set_state((folder / restore).read_text())
    total = jax.jit(lambda tokens: tokens.astype("int32").sum(), out_shardings=NamedSharding(mesh, PartitionSpec()))
    steps = []
    for batch in batches:
        state = batches.get_state()
        steps.append({"shards": pieces(batch), "sum": int(total(batch["tokens"])), "state": state})
        if len(steps) == words.get("steps"):
            (folder / f"state_{words['run']}_{number}.json").write_text(json.dumps(state))
            break
    rows = loader.report().to_dict()["row_sums"]
    told = {"steps": steps, "blocks": [loader._shards.block, loader._shards.num_blocks], "rows": rows}
    (folder / f"{words['run']}_{number}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), json.loads(sys.argv[5]))
