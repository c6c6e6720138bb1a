#!/usr/bin/env python3
"""Turn the golden chunks into seeds for fuzz/codec_fuzz.cpp: python fuzz/make_seeds.py OUT_DIR.

Writes OUT_DIR/<target>/<case>. The recipe in front of the stored bytes is described in codec_fuzz.cpp.
"""

import pathlib
import struct
import sys

IDS = [1, 2, 3, 32000, 32001, 32004, 32008, 32015]
TARGETS = ["deflate", "shuffle", "fletcher32", "lzf", "blosc", "lz4", "bitshuffle", "zstd"]


def main(out_dir: str) -> None:
    """Write the seeds of every target below ``out_dir``."""
    golden = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "codec.golden"
    for line in golden.read_text().splitlines():
        name, _, size, _, mask, specs, stored = (part.strip() for part in line.split("|"))
        recipe = struct.pack("<BBH", len(specs.split()), int(mask), int(size))
        for spec in specs.split():
            code, values = spec.split(":")
            values = [int(v) for v in values.split(",") if v][:7]
            recipe += struct.pack(f"<BB{len(values)}H", IDS.index(int(code)), len(values), *values)
        targets = ["codec_chain"]
        if len(specs.split()) == 1 and mask == "0":
            targets.append(TARGETS[recipe[4]])
        for target in targets:
            folder = out_dir / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(recipe + bytes.fromhex(stored))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
