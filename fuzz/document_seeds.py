"""The seeds of fuzz targets that read text: JSON, YAML, vocabularies. make_seeds.py writes them with all others."""

import base64
import json
import pathlib

IMAGE = {
    "multiscales": [
        {
            "version": "0.4",
            "axes": [
                {"name": "z", "type": "space", "unit": "micrometer"},
                {"name": "y", "type": "space", "unit": "nanometer"},
                {"name": "x", "type": "space", "unit": "nanometer"},
            ],
            "datasets": [
                {
                    "path": "a",
                    "coordinateTransformations": [
                        {"type": "scale", "scale": [0.04, 4, 4]},
                        {"type": "translation", "translation": [0.02, 2, 2]},
                    ],
                },
                {"path": "b", "coordinateTransformations": [{"type": "scale", "scale": [0.08, 8, 8]}]},
            ],
            "coordinateTransformations": [{"type": "identity"}],
        }
    ]
}
NOTES = {"unit": "GeV", "offset": -3, "scale": 1.5, "labels": ["a", "b"], "range": [0, 10], "flag": True, "none": None}
NOTES |= {"bare": float("nan"), "bound": float("-inf"), "nested": {"a": [1, "b"]}, "large": 2**64 - 1}


def write_zarr_json_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of zarr_json: the documents of whole stores of both versions, and attributes of both."""
    folder = out_dir / "zarr_json"
    folder.mkdir(parents=True, exist_ok=True)
    group = {"zarr_format": 2}
    two = {**group, "shape": [8, 6, 4], "chunks": [4, 6, 4], "dtype": "<u2", "compressor": None, "filters": None}
    two |= {"fill_value": 0, "order": "C"}
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    delta = {"id": "delta", "dtype": "<f4", "astype": "<f4"}
    packed = {**two, "dtype": ">f4", "compressor": blosc, "fill_value": "NaN", "dimension_separator": "/"}
    names = {"_ARRAY_DIMENSIONS": ["z", "y", "x"], **NOTES}
    listed = {"metadata": {".zgroup": group, "a/.zarray": two, "a/.zattrs": names}, "zarr_consolidated_format": 1}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    three = {"zarr_format": 3, "node_type": "array", "shape": [8, 6, 4], "data_type": "uint16", "fill_value": 0}
    three |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6, 4]}}, "codecs": codecs}
    three |= {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}
    inner = {"chunk_shape": [2, 6, 4], "codecs": [*codecs, {"name": "zstd", "configuration": {"level": 1}}]}
    inner |= {"index_codecs": [*codecs, {"name": "crc32c"}], "index_location": "end"}
    sharded = {**three, "codecs": [{"name": "sharding_indexed", "configuration": inner}], "attributes": NOTES}
    sharded |= {"dimension_names": ["z", "y", None], "storage_transformers": []}
    root = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", **IMAGE}}}
    whole = {**root, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {"a": three}}}
    seeds: dict[str, tuple[int, list[object]]] = {
        "image_2": (0, [group, IMAGE, two, names, listed]),
        "packed_2": (0, [group, NOTES, packed]),
        "delta_2": (0, [group, None, {**two, "dtype": "<f4", "filters": [delta]}, NOTES]),
        "records_2": (0, [group, None, {**two, "dtype": [["a", "<i2"], ["b", "|u1", [2]]], "fill_value": None}]),
        "image_3": (1, [root, three, three]),
        "sharded_3": (1, [whole, sharded, {**three, "data_type": "float32", "fill_value": "0x7fc00000"}]),
        "extension_3": (
            1,
            [{**root, "more": {"must_understand": True}}, {**three, "more": {"must_understand": False}}],
        ),
        "draft_3": (1, [{**root, "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"}]),
        "image": (2, [IMAGE, names]),
        "image_of_5": (2, [{"ome": {"version": "0.5", **IMAGE}}, {}]),
        "texts_of_3": (2, [{"multiscales": [{**IMAGE["multiscales"][0], "axes": ["z", "y", "x"]}]}, NOTES]),
    }
    for name, (kind, documents) in seeds.items():
        texts = [b"" if document is None else json.dumps(document).encode() for document in documents]
        (folder / name).write_bytes(bytes([kind]) + b"\0".join(texts))


def write_saved_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of saved: manifests of caches without their checksum, progress, and states of a loader."""
    folder = out_dir / "saved"
    folder.mkdir(parents=True, exist_ok=True)
    sums = {"file": "crc32c.npy", "bytes": 160, "crc32c": "1f2e3d4c"}
    field = {"name": "x", "path": "features/x", "dtype": "<f4", "shape": [3, 2], **sums, "file": "x.npy", "bytes": 6128}
    source = {"path": "/data/a.h5", "bytes": 7000, "mtime_ns": 1700000000123456789, "ctime_ns": -5, "inode": 12}
    source |= {"entries": 0, "rows": 250}
    manifest = {"format": "headrace-cache", "format_version": 1, "headrace": "1.0", "created": "2026-01-31T12:00:00Z"}
    manifest |= {"rows": 250, "fields": [field], "blocks": {"count": 4, "rows": 64}, "checksums": sums}
    manifest |= {"sources": [source], "sample": "0123456789abcdef"}
    label = {**field, "name": "y", "path": "y", "dtype": "|S5", "shape": [], "file": "y.npy"}
    listed = {**manifest, "fields": [field, label], "blocks": {"count": 4, **sums, "file": "blocks.npy"}}
    more = {**source, "path": "b", "rows": 100}
    older = {key: value for key, value in source.items() if key not in ("ctime_ns", "inode", "entries")}
    two = {**manifest, "rows": 350, "sources": [older, more], "blocks": {"count": 6, "rows": 64}}
    for name, document in {"uniform": manifest, "listed": listed, "two": two}.items():
        (folder / f"manifest_{name}").write_bytes(b"\0" + json.dumps(document).removesuffix("}").encode())
    shards = {"shards": [{"tokens": 17, "documents": 3, "crc32c": 5, "ends_crc32c": 6}], "is_full": True}
    progress = {"format": "headrace-tokenize", "settings": {"files": ["a.jsonl"]}, "file": 0, "offset": 800, "line": 9}
    progress |= {"tokens": 170, "documents": 8, "text_bytes": 700, "in_document": 0, "skipped": 1}
    progress |= {"first_skipped": "a.jsonl, line 3: no text", "output": shards}
    (folder / "progress").write_bytes(b"\1" + json.dumps(progress).encode())
    state = {"v": 2, "data": "0123456789abcdef" * 2, "rows": 245, "order": "files", "seed": 0, "batch": 10}
    state |= {"epoch": 3, "samples": 40}
    orders = {"block": "block 64x4", "exact": "exact", "weighted": "weighted 0123456789ab 245 with"}
    orders |= {"block_of_nothing": "block 0x5", "block_of_all": "block 4294967295x4294967295", "listed": "listed"}
    steps = {"budget": "tokens 100 deal lanes 4", "groups": "groups file"}
    states = {"plain": state, "end": {**state, "samples": 245}}
    states |= {name: {**state, "order": order, "batch": 20} for name, order in orders.items()}
    states["exact"]["batch"] = 10
    states |= {name: {**state, "steps": text} for name, text in steps.items()}
    for name, document in states.items():
        (folder / f"state_{name}").write_bytes(b"\2" + json.dumps(document).encode())


def write_bench_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of bench: measurements with rivals, and a baseline behind them."""
    folder = out_dir / "bench"
    folder.mkdir(parents=True, exist_ok=True)

    def measured(name: str, rates: list[tuple[float, float | None]], **more: object) -> dict[str, object]:
        times = {"first_batch_seconds": 0.25, "batch_ms": {"mean": 5, "p50": 4.5, "p99": 20, "max": 30}}
        passes = [
            [None if rate is None else {"samples": 1000, "samples_per_second": rate, **times} for rate in pair]
            for pair in rates
        ]
        rounds = [{"round": i, "first": first, "later": later} for i, (first, later) in enumerate(passes)]
        return {
            "name": name,
            "title": name,
            "split": "train",
            "batch_size": 512,
            "samples": 10000,
            "rounds": rounds,
            **more,
        }

    frame = {"schema": "headrace-bench/1", "headrace": "1.0", "samples": 10000, "sample_bytes": 1024}
    frame |= {"machine": {"cpu": "a <b> & c", "cores": 2, "memory_bytes": 2**34, "system": "Linux 6"}}
    frame |= {"page_cache": {"files": 2, "bytes": 2**20, "resident_share": 0.5}, "stopped_by_time": True}
    ours = measured("headrace", [(100.5, 3000), (300, 1e6), (200, None)])
    tried = {"2": 40.5, "4": 60}
    theirs = measured("torch", [(50, 100), (20, None)], workers=4, workers_tried=tried, split="validation")
    one = {**frame, "contestants": [ours]}
    both = {**frame, "contestants": [ours, theirs, {**theirs, "split": "train"}]}
    both["skipped"] = [{"name": "grain", "reason": "it is not installed"}]
    slower = {**frame, "contestants": [measured("headrace", [(200, 9000)])], "page_cache": {"resident_share": None}}
    texts = {name: json.dumps(bench).encode() for name, bench in {"one": one, "both": both, "slower": slower}.items()}
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    (folder / "compared").write_bytes(texts["both"] + b"\0" + texts["slower"])


RUN_FILES = {
    "manual": """data:   {files: "train_*.h5", fields: {x: feature_matrix, y: labels}}
loader: {batch_size: 512, shuffle: true, seed: 7, memory: 8GiB}
""",
    "every_option": """data:
  files: [a.h5, ~/b.h5, "/data/c [1].h5"]
  fields: [x, "labels.h5::y"]
  sample_axes: 3
  nulls: mask
  broadcast: {station: "stations_*.h5::name"}
loader:
  global_batch_size: 96
  shuffle: exact
  shuffle_buffer: 64x4
  tail: pad
  seed: 12345678901234567890
  rank: 1
  world_size: 4
  threads: 3
  cache: "./cache dir"
  share: host
  framework: torch
  device: cuda:1
  batch_format: tuple
  layout: padded
  fill: -1.5e-3
  provenance: True
  on_error: raise
  timeout: 0.3
""",
    "groups": "data: {files: a.h5}\nloader: {group_by: 'event: id', max_items: 100, max_groups: 4, shuffle: true}\n",
    "events": """data: {files: a.h5, sample_by: {key: "keys.h5::event", column: 0}, targets: {y: "t.h5::energy"}}
loader: {batch: {tokens: 32768, too_long: alone, lanes: 8, lookahead: 64, max_samples: 512}, drop_last: true}
""",
    "table": """data:
  files: ["batch_*.parquet"]
  sample_by: {meta: meta.parquet, first: a, last: b, file: id, file_template: "batch_{id}.parquet"}
loader: {batch_size: 1, drop_last: false, shuffle_buffer: 1.5GiB}
""",
    "offsets": """data: {files: a.h5, sample_by: {offsets: ends}}
loader: {batch_size: 8, shuffle: block, cache: none}
""",
    "patches": """data:
  files: a.zarr
  volume: {arrays: {raw: volumes/raw, labels: "l.zarr::labels"}}
  patches:
    shape: [64, 64, 64]
    samples_per_epoch: 10000
    fill: nan
    small: skip
    balance: {labels: [1, 2], "a b": 3}
    context: {raw_32nm: [16, 16, 16], other: 8}
loader: {batch_size: 4, cache: ram}
""",
    "grid": """data:
  {files: a.zarr, volume: {}, patches: {shape: 64, stride: 32, edge: fill, draws: independent, balance: [m]}}
loader: {batch_size: 4}
""",
    "tokens": """data: {files: [tokens], tokens: {dtype: u2, vocab_size: 50257, check: true},
       windows: {length: 1024, lookahead: 1, stride: 512, across_files: true}}
loader: {batch_size: 8}
""",
    "grain": """data_config: {data_path: corpus.bin, tokenizer_name: gpt2, batch_size: 8, worker_count: 4,
  worker_buffer_size: 100, prefetch_buffer_size: 50, cache_size: 100000}
model_config: {block_size: 64, vocab_size: 50257, num_layers: 4}
training: {seed: 3, num_epochs: 2, shuffle: False}
""",
    "escapes": r"""data: {files: "a\tb\u00e9\0 # no comment", fields: {"null": "true", "\x7f": "~"}}
loader: {batch_size: 1}
""",
}


def write_run_file_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of run_file: every key of a run file, and a configuration for Grain."""
    folder = out_dir / "run_file"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in RUN_FILES.items():
        (folder / name).write_text(text)


CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
CL100K += r"\s*[\r\n]+|\s+(?!\S)|\s+"


def write_tokenizer_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of tokenizer: hard text in each grammar, and a vocabulary of each kind."""
    folder = out_dir / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    text = "It's the reader's 12345 tokens...\n\n  \r\n\tDON'T \u00a0\u3000été 数据 ١٢ '\u017f 😀 a" + "a" * 70
    for kind in range(3):
        (folder / f"text_{kind}").write_bytes(bytes([kind]) + text.encode() + b" \xff\xe2\x80 \xf5\x80 \xed\xa0\x80  ")
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    vocab = {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)} | {"th": 256, "the": 257}
    model = {"type": "BPE", "vocab": vocab, "merges": ["t h", "th e"]}
    level = {"type": "ByteLevel", "add_prefix_space": False}
    added = [{"id": 258, "content": "<|endoftext|>", "special": True}]
    document = {"added_tokens": added, "pre_tokenizer": level, "model": model}
    (folder / "tokenizer_json").write_bytes(b"\3" + json.dumps(document).encode())
    word = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    words = [{"id": 258 + i, "content": text, **word} for i, text in enumerate(["<s>", "<s>a", "</s>", "\0"])]
    words[1]["special"] = words[2]["special"] = False
    words[2]["normalized"] = True
    split = {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": False}
    level |= {"trim_offsets": True, "use_regex": False}
    every = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": words, "normalizer": None}
    every |= {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "post_processor": level}
    every |= {"decoder": level, "model": {**model, "merges": [["t", "h"], ["th", "e"]], "dropout": None}}
    every["model"] |= {"unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False}
    every["model"] |= {"byte_fallback": False, "ignore_merges": True}
    removed = {**split, "behavior": "Removed", "invert": True}
    holes = [words[0], {**words[1], "id": 300}, {**words[2], "id": 257, "content": "the"}]
    stripped = [{**words[0], "lstrip": True}, {**words[3], "id": 259, "rstrip": True}]
    variants = {
        "every_key": every,
        "removed": {**every, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [removed, level]}},
        "holes": {**every, "added_tokens": holes},
        "stripped": {**every, "added_tokens": stripped},
        "untyped": {**every, "model": {"vocab": vocab, "merges": model["merges"]}},
    }
    for name, variant in variants.items():
        (folder / f"tokenizer_json_{name}").write_bytes(b"\3" + json.dumps(variant).encode())
    tokens = [*(bytes([b]) for b in range(256)), b"th", b"the"]
    lines = [base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)]
    (folder / "ranks").write_bytes(b"\4" + b"".join(lines))
    (folder / "pair").write_bytes(b"\5" + json.dumps(vocab).encode() + b"\0#version: 0.2\nt h\nth e\n")
