"""Orders from peers' own code. Run by an interpreter that has them: `peer_orders.py NAME SETTINGS_JSON OUT.npy`.

Prints which version made the order; status 3 if the peer is not installed.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata

import numpy as np
from numpy.typing import NDArray


def webdataset(rows: int, file_rows: int, seed: int, buffer: int) -> NDArray[np.int64]:
    """Shards in random order through WebDataset's own buffer."""
    from webdataset.filters import _shuffle

    starts = np.random.default_rng(seed).permutation(rows // file_rows) * file_rows
    stream = iter((starts[:, None] + np.arange(file_rows)).ravel().tolist())
    return np.fromiter(_shuffle(stream, bufsize=buffer, seed=seed), np.int64, rows)


def py1e(rows: int, file_rows: int, seed: int, block: int) -> NDArray[np.int64]:
    """MosaicML streaming's own function, for one canonical node."""
    from streaming.base.shuffle.py1e import get_shuffle_py1e

    shards = np.full(rows // file_rows, file_rows, np.int64)
    return get_shuffle_py1e(shards, num_canonical_nodes=1, seed=seed, epoch=0, block_size=block)


PACKAGES = {"webdataset": "webdataset", "py1e": "mosaicml-streaming"}


def main() -> int:
    name, settings, out = sys.argv[1:]
    try:
        order = globals()[name](**json.loads(settings))
    except ImportError as error:
        print(f"{PACKAGES[name]}: {error}", file=sys.stderr)
        return 3
    np.save(out, order)
    print(f"{PACKAGES[name]} {metadata.version(PACKAGES[name])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
