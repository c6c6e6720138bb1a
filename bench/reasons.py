"""Why figures are missed, by their keys. A reason is shown below its figure while the figure is missed.

A reason names what was measured. Where the cause was not looked for, it says so.
"""

from __future__ import annotations

_FORECAST = "forecasts come from 1.5 s of measuring, and a virtual machine drifts by 20 %; no case was looked at"
_TOUCHED = "memory is touched for the first time, which a virtual machine hands out at about 1 GB/s"
_UNKNOWN = "the cause was not looked for"
_LATE = "repetitions differ by more than is missed (the first one, with the host's disk cold, is above 1)"
_KEEPS = (
    "its pool holds 89 % of the decoded volume, which is 576 MiB; Headrace gives the same memory to batches that wait, "
    "and decodes 13.5 chunks a crop. So it is without lateness: 257 against 111 crops/s at 0 ms, with a pool of 432 MiB"
)
_DECODING = "decode threads alone reach 54,700 jets/s on this machine, and 82,000 where the reach was set"

REASONS = {
    "vs_torch_slices": f"{_DECODING}: 3.7 times the fastest torch beside it, which is no slower here than there",
    "vs_torch_rows": _DECODING,
    "gzip_shuffle": "below the reach by less than repetitions differ",
    "consumer_cpu": f"twice what it was four days earlier, on another machine; {_UNKNOWN}",
    "first_batch_8gib": "above the reach by less than repetitions differ",
    "span_map": f"9 ns before samples could be truncated, and listed from several files; {_UNKNOWN}",
    "accelerator": f"it takes 51,200 jets/s; {_DECODING}",
    "preload": "below the reach by less than repetitions differ",
    "mixing_blocks": "10^9 tokens, batches of 5,632: streams of 1.9 blocks, two of which meet in a block; 0.86 with 2",
    "token_windows_first": "it reads 512 blocks of 256 KiB, one for each of its samples, which is how they are mixed",
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
    "symmetric_pairs": "squares of 4 x 4 are turned in registers; a copy reads whole lines, once each",
    "trainer_fit": "Lightning's own step takes 1 ms more than the loop's, also where batches lie in memory",
    "mel_spec_augment": "0.2 us a sample for draws, a copy and two stripes; 14 M/s without them",
    "device_consumer": "after a pause of 2 ms caches are cold: 29 us without a device and a pause",
    "late_5_jets": f"{_LATE}; three pairs by hand had 0.88, 0.93 and 1.01",
    "late_5_rows": f"{_LATE}; four pairs by hand had 0.86 to 0.91: the first batch comes 0.1 s later, of 1.4 s in all",
    "late_5_crops": f"{_LATE}; 119 crops/s for 115 in a pair of 4 s by hand",
    "late_20_jets": "the first batch comes after 0.99 s for 0.68, and an epoch takes 5 s",
    "late_20_rows": "the first batch comes 0.2 to 0.3 s later, and an epoch takes 1.4 s",
    "late_5_tensorstore": _KEEPS,
    "late_20_tensorstore": _KEEPS,
    "parquet_open_again": "two thirds of it is `hr.open()`; then the first batch waits for its files",
}
