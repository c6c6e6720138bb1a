"""`make demo`: write jets like JetClass, deliver shuffled epochs, measure the same work by h5py, show one screen.

Then an epoch of each other kind of samples: mel spectrograms, events, patches of volumes, windows of tokens.

Every figure on the screen was measured in this run, on this machine. Needs headrace, NumPy and h5py.
"""

from __future__ import annotations

import argparse
import mmap
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import h5py
import numpy as np
from demo_kinds import Epoch, run_all

import headrace as hr
from headrace.__main__ import command_line
from headrace._support.checks import memory_bytes

FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
WIDTH = 92
KEY = 11  # columns of the left margin, as in the loader's report


class Progress:
    """One line on stderr, renewed, and only on a terminal."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.start = self.last = time.perf_counter()
        self.shown = sys.stderr.isatty()

    def update(self, done: int, total: int) -> None:
        now = time.perf_counter()
        if not self.shown or now - self.last < 0.2:
            return
        self.last = now
        rate = done / (now - self.start)
        left = (total - done) / rate if rate else 0.0
        text = f"{self.what}: {100 * done / total:3.0f} %  {rate:,.0f} jets/s  {left:.0f} s left"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def peak_rss_bytes() -> int:
    """Most memory that this process has ever had resident."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def touch_memory(size_bytes: int) -> float:
    """Have the machine give so much memory to a process, and take it back. Returns how many seconds that took.

    A virtual machine gets memory from its host only when it is first touched, which may take longer than decoding into
    it: once since it was started, whoever comes first. A child touches it, so that this process does not grow.
    """
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
                memory.madvise(mmap.MADV_HUGEPAGE)
                np.ndarray((size_bytes // mmap.PAGESIZE,), np.uint8, memory, strides=(mmap.PAGESIZE,))[:] = 1
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - start


def fingerprint(x: np.ndarray, adj: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A few numbers of every jet, enough to tell jets apart: shape (rows, 7)."""
    return np.column_stack([x[:, 0, :4], adj[:, :2], y.astype(np.float32)])


def sort_rows(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(rows.T)]


def deliver(glob: str, args: argparse.Namespace) -> tuple[hr.Loader, list[float], np.ndarray, int]:
    """Run the epochs.

    Returns the loader, the seconds of each epoch, fingerprints of the last epoch's jets, taken while its clock stands
    still, and how far the process grew.
    """
    jets = hr.open(glob, fields=FIELDS)
    before = peak_rss_bytes()
    loader = hr.Loader(jets, batch_size=args.batch_size, shuffle=True, seed=args.seed, memory=args.memory)
    progress = Progress(f"delivering {args.epochs} shuffled epochs")
    done, total, seconds = 0, len(jets) * args.epochs, []
    for epoch in range(args.epochs):
        prints, aside, start = [], 0.0, time.perf_counter()
        for batch in loader:
            begin = time.perf_counter()
            if epoch + 1 == args.epochs:
                prints.append(fingerprint(batch["x"], batch["adj"], batch["y"]))
            done += len(batch["y"])
            progress.update(done, total)
            aside += time.perf_counter() - begin
        seconds.append(time.perf_counter() - start - aside)
    progress.close()
    return loader, seconds, np.concatenate(prints), peak_rss_bytes() - before


def deliver_from_files(glob: str, args: argparse.Namespace) -> list[float]:
    """Seconds of two epochs for which every chunk is read and decoded again, as h5py does."""
    with hr.open(glob, fields=FIELDS) as jets:
        loader = hr.Loader(
            jets, batch_size=args.batch_size, shuffle=True, seed=args.seed, memory=args.memory, cache="none"
        )
        with loader:
            progress = Progress("the same without a cache")
            done, seconds = 0, []
            for _ in range(2):
                start = time.perf_counter()
                for batch in loader:
                    done += len(batch["y"])
                    progress.update(done, 2 * len(jets))
                seconds.append(time.perf_counter() - start)
            progress.close()
    return seconds


class H5pyFiles:
    """The same files as a careful user of h5py opens them: once, with the dataset objects kept."""

    def __init__(self, paths: list[str]) -> None:
        self.files = [h5py.File(path, "r") for path in paths]
        self.arrays = [[file[path] for path in FIELDS.values()] for file in self.files]
        self.rows = [len(arrays[0]) for arrays in self.arrays]

    def slices(self, batch_size: int, rng: np.random.Generator, seconds: float) -> tuple[float, np.ndarray | None, int]:
        """Contiguous slices in random order: jets/s, fingerprints (None if time was up before the end), jets read."""
        starts = [(f, row) for f, rows in enumerate(self.rows) for row in range(0, rows, batch_size)]
        progress = Progress("h5py, contiguous slices")
        prints, done, spent, total = [], 0, 0.0, sum(self.rows)
        for f, row in (starts[i] for i in rng.permutation(len(starts))):
            start = time.perf_counter()
            x, adj, y = (array[row : row + batch_size] for array in self.arrays[f])
            spent += time.perf_counter() - start
            prints.append(fingerprint(x, adj, y))
            done += len(y)
            progress.update(done, total)
            if spent > seconds:
                break
        progress.close()
        return done / spent, np.concatenate(prints) if done == total else None, done

    def single_rows(self, rng: np.random.Generator, seconds: float) -> tuple[float, int]:
        """A row at a time in shuffled order, for a while: jets/s, jets read."""
        ends = np.cumsum(self.rows)
        progress = Progress("h5py, a row at a time")
        done, start, total = 0, time.perf_counter(), int(ends[-1])
        for index in rng.permutation(total):
            f = int(np.searchsorted(ends, index, side="right"))
            row = int(index - (ends[f] - self.rows[f]))
            for array in self.arrays[f]:
                array[row]
            done += 1
            progress.update(done, total)
            if time.perf_counter() - start > seconds:
                break
        progress.close()
        return done / (time.perf_counter() - start), done


def line(key: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"{key:<{KEY}}", subsequent_indent=" " * KEY)


def fit(text: str) -> str:
    """The loader's report with its long lines wrapped beside their key."""
    return "\n".join(row if len(row) <= WIDTH else line(row[:KEY].strip(), row[KEY:]) for row in text.splitlines())


def activation() -> str | None:
    """How to get into this interpreter's virtual environment; None if it is not in one."""
    if sys.prefix == sys.base_prefix:
        return None
    script = Path(sys.prefix) / "bin" / "activate"
    try:
        return f"source {script.relative_to(Path.cwd())}"
    except ValueError:
        return f"source {script}"


def table(key: str, rows: list[list[str]]) -> list[str]:
    """Lines of a table, its first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for i, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"{'' if i else key:<{KEY}}" + "  ".join(cells))
    return lines


def kinds_table(epochs: list[Epoch]) -> list[list[str]]:
    rows = [["an epoch, shuffled, cache='none'", "samples", "samples/s", "of a loop", "read one by one by"]]
    for epoch in epochs:
        name = epoch.kind.name if epoch.good else f"{epoch.kind.name}: WRONG"
        rate = epoch.samples / epoch.seconds
        rows.append([name, f"{epoch.samples:,}", f"{rate:,.0f}", f"{rate / epoch.plain_rate:,.0f}x", epoch.kind.plain])
    return rows


def screen(args: argparse.Namespace, report: str, grown: int, touched: str, rows: list[list[str]], checked: str,
           kinds: list[Epoch]) -> str:  # fmt: skip
    out = ["", "─" * WIDTH, fit(report)]
    out.append(
        line(
            "PROCESS",
            f"grew by {grown / 2**20:,.0f} MiB while delivering (peak resident memory); {touched}",
        )
    )
    out.append(line("CHECK", checked))
    out.append("")
    out.append(
        line("PEER", f"h5py {h5py.__version__} on HDF5 {h5py.version.hdf5_version}, one process, files kept open")
    )
    out += [*table("THE SAME", rows), "", *table("OTHERS", kinds_table(kinds))]
    good = all(epoch.good for epoch in kinds)
    out.append(line("CHECK", "each epoch held what h5py or NumPy finds in the whole files" if good else
                    "WRONG: an epoch did not hold what is in the files. Please report this."))  # fmt: skip
    out += ["─" * WIDTH, "Go on"]
    activate = activation()
    if activate:
        out.append(f"  {activate}")
    out += [
        "  headrace inspect YOUR.h5          # what will be fast in your files, what not, and why",
        "  python",
        "  >>> import headrace as hr",
        f'  >>> jets = hr.open("{args.out}/train_*.h5", fields={{"x": "feature_matrix", "y": "labels"}}); print(jets)',
        '  >>> for batch in hr.Loader(jets, batch_size=512, shuffle=True): print(batch["x"].shape); break',
        "",
    ]
    return "\n".join(out)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="demo_data", help="directory for the files (default: demo_data)")
    parser.add_argument("--jets", type=int, default=65536, help="jets to write (default: 65536, some 300 MB)")
    parser.add_argument("--files", type=int, default=4, help="files to write (default: 4)")
    parser.add_argument("--epochs", type=int, default=3, help="shuffled epochs to deliver (default: 3)")
    parser.add_argument("--batch-size", type=int, default=512, help="jets a batch (default: 512)")
    parser.add_argument("--memory", default="1GiB", help="the loader's budget (default: 1GiB)")
    parser.add_argument("--seed", type=int, default=7, help="of the jets and of the order (default: 7)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        help="of h5py a row at a time; slices take at most 2.5 times that (default: 10)",
    )
    args = parser.parse_args()
    for name in ("jets", "files", "epochs", "batch_size"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return args


def main() -> int:
    args = parse_arguments()
    written = subprocess.run(
        [os.fspath(command_line()), "demo", "--out", args.out, "--kind", "jets", "--jets", str(args.jets),
         "--files", str(args.files), "--seed", str(args.seed), "--json"],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if written.returncode != 0:
        return written.returncode  # it has said why
    glob = f"{args.out}/train_*.h5"
    size = min(memory_bytes("memory", args.memory), os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE // 2)
    seconds = touch_memory(size)
    touched = (
        f"before that, {size / 2**20:,.0f} MiB were touched once, which took {seconds:.2f} s: a virtual machine gets "
        "memory from its host only then, once since it was started"
    )
    try:
        loader, epochs, delivered, grown = deliver(glob, args)
    except hr.Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    report = loader.report()
    jets = len(loader.dataset)
    rng = np.random.default_rng(args.seed)
    h5 = H5pyFiles([file.path for file in loader.dataset.files])
    slice_rate, read, slice_jets = h5.slices(
        args.batch_size, rng, 2.5 * args.seconds
    )  # the whole set, if it can be: it is compared
    row_rate, row_jets = h5.single_rows(rng, args.seconds)
    if read is None:
        checked, good = "h5py had not read all jets when its time was up, so nothing was compared", True
    else:
        good = bool(np.array_equal(sort_rows(delivered), sort_rows(read)))
        checked = (
            f"the last epoch held each of the {len(read):,} jets that h5py reads exactly once"
            if good
            else "WRONG: the last epoch did not hold the jets that h5py reads. Please report this."
        )
    screen_text = str(report).rstrip()
    loader.close()  # its memory is the next one's
    from_files = deliver_from_files(glob, args)

    def compared(what: str, read: int, rate: float) -> list[str]:
        return [what, f"{read:,}", f"{rate:,.0f}", f"{rate / slice_rate:,.1f}x", f"{rate / row_rate:,.0f}x"]

    rows = [["measured just now, files in the page cache", "jets", "jets/s", "of slices", "of rows"]]
    for number, seconds in enumerate(epochs, 1):
        what = "first epoch" if number == 1 else f"epoch {number}"
        rows.append(compared(f"headrace, shuffled, {what}", jets, jets / seconds))
    for number, seconds in enumerate(from_files, 1):
        what = "first epoch" if number == 1 else f"epoch {number}"
        rows.append(compared(f"the same, cache='none', {what}", jets, jets / seconds))
    rows.append(compared(f"h5py, slices of {args.batch_size} in random order", slice_jets, slice_rate))
    rows.append(compared("h5py, a row at a time, shuffled", row_jets, row_rate))
    kinds = list(run_all(Path(args.out), args.seed, args.memory))
    print(screen(args, screen_text, grown, touched, rows, checked, kinds))
    return 0 if good and all(epoch.good for epoch in kinds) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\r\x1b[Kinterrupted", file=sys.stderr)
        sys.exit(130)
