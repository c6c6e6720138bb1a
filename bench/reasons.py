"""Why figures are missed, by their keys. A reason is shown below its figure while the figure is missed.

A reason names what was measured. Where the cause was not looked for, it says so.
"""

from __future__ import annotations

_FORECAST = "forecasts come from 1.5 s of measuring, and a virtual machine drifts by 20 %; no case was looked at"
_TOUCHED = "memory is touched for the first time, which a virtual machine hands out at about 1 GB/s"
_UNKNOWN = "the cause was not looked for"

REASONS = {
    "lzf": "LZF epochs are as fast as copies of uncompressed rows into batches; the limit does not fill batches",
    "first_batch_1gib": f"{_TOUCHED}; repetitions that found it present took 0.2 s",
    "ragged_rows": "each event is a copy of its own of 1.8 kB on average; the memcpy beside it is one piece",
    "first_epoch_ram": f"rows are written to a batch and to the cache, whose {_TOUCHED}",
    "total_1_ram": "as the first epoch of this tier; what is kept pays from the second epoch on",
    "consumer_kept_recoded": "blocks are kept in time that the loader has left, and this consumer leaves it too little",
    "consumer_epoch_recoded": "above the reach by less than repetitions differ",
    "consumer_epoch_ram": f"{_TOUCHED}: one repetition took nearly twice as long as the others",
    "advise_rate": _FORECAST,
    "advise_first_epoch": _FORECAST,
    "advise_spread": _FORECAST,
    "forecast_peak": _UNKNOWN,
    "predicted_peak": f"the worst is a prediction that is too high; {_UNKNOWN}",
    "lru_recipe_windowed": _UNKNOWN,
    "mel_gather_limit": "the gather writes into buffers that are used again, and delivers them to no other thread",
    "zarr_crops_zstd64": "63 % of the time is decoding in libzstd, which both call: 1.46 bytes for each delivered",
    "parquet_decode": "half of the time is copies of Snappy and `pread`; polars maps files",
    "parquet_shuffled": "writes to 230 batches at once miss the caches; two threads hide it",
    "parquet_loop": "polars decodes faster (above), and the loop shuffles inside one file",
    "parquet_joined": "joining and scaling, sample by sample, are half of the time; the limit has none of them",
    "parquet_loop_padded": "as above: joining and scaling sample by sample; the loop does so for a whole batch",
    "parquet_open_again": "opening takes 0.24 s, 0.07 s of it for footers; then the first batch waits for its files",
}
