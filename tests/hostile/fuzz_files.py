#!/usr/bin/env python3
"""Read mutated files, for as long as one likes: python tests/hostile/fuzz_files.py --seconds 60 --seed 1 --workers 2.

Every mutant is opened, walked over, sliced and delivered, in a forked process. It must give values, or an error of
ours. A finding is a crash, a hang, ten seconds of computing, an InternalError or an exception of another kind, more
than twice the memory, or values that are not the same twice or not those that a checksum stands for. Findings are kept
in --keep, each with the command that reads it again; the last line counts.
Exit status 1 if there were any.

    python tests/hostile/fuzz_files.py --again build/hostile/3_128.json     the one finding, in this process
    python tests/hostile/fuzz_files.py --only strings,virtual …            bases whose names contain one of these
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

os.environ["HEADRACE_CACHE"] = "off"  # what opening remembers of files is another test's matter
sys.path.insert(0, str(Path(__file__).parent))
from hostile_mutations import Base, load_bases, mutate
from hostile_read import BUDGET_BYTES, FindingError, bounded, read_mutant

import headrace as hr

BATCH = 150  # mutants of one process
WATCHDOG_SECONDS = 90.0
MORE_ADDRESSES_BYTES = 3 << 30  # what the system gives: absurd sizes fail instead of filling the machine
ROOT = Path(__file__).resolve().parents[2]


def write_mutant(base: Base, folder: Path, data: bytes) -> Path:
    """A base's files with one of them replaced, each time as a new file."""
    parent = folder / base.name
    for name, content in base.files.items():
        path = parent / name
        if name == base.target:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(data)
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return parent / base.opened


def try_one(bases: list[Base], folder: Path, seed: int, number: int) -> dict[str, str]:
    """What one mutant gave."""
    base = bases[number % len(bases)]
    mutant = mutate(base, f"{seed}/{base.name}/{number}")
    path = write_mutant(base, folder, mutant.data)
    try:
        with bounded():
            return {"came": read_mutant(base, path, mutant, number)}
    except FindingError as finding:
        return {"kind": finding.kind, "text": str(finding)[:1500]}


def child(bases: list[Base], folder: Path, seed: int, numbers: range, until: float, out: int) -> None:
    """Try some mutants, for as long as there is time; a line before and after each."""
    folder.mkdir(exist_ok=True)
    log = os.open(folder / "stderr", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MORE_ADDRESSES_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hr.set_memory(BUDGET_BYTES)
    for number in numbers:
        if time.monotonic() > until:
            break
        os.write(out, b"{}\n")
        os.write(out, json.dumps(try_one(bases, folder, seed, number)).encode() + b"\n")


@dataclass
class Worker:
    """A process that tries mutants, and where it is."""

    pid: int
    fd: int
    folder: Path
    numbers: range
    done: int = 0
    begun: bool = False  # the next one
    rest: bytes = b""
    heard: float = field(default_factory=time.monotonic)
    killed: bool = False


class Run:
    """All workers, and what they found."""

    def __init__(self, bases: list[Base], arguments: argparse.Namespace, scratch: Path) -> None:
        self.bases, self.scratch, self.keep = bases, scratch, Path(arguments.keep)
        self.seed = arguments.seed
        self.came: collections.Counter[str] = collections.Counter()
        self.found: collections.Counter[str] = collections.Counter()
        self.next, self.slots = arguments.first, arguments.workers
        self.until = time.monotonic() + arguments.seconds

    def start(self, slot: int, numbers: range) -> Worker:
        folder, (reading, writing) = self.scratch / str(slot), os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                child(self.bases, folder, self.seed, numbers, self.until, writing)
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(writing)
        return Worker(pid, reading, folder, numbers)

    def more(self) -> range:
        self.next += BATCH
        return range(self.next - BATCH, self.next)

    def keep_finding(self, number: int, kind: str, text: str) -> None:
        base = self.bases[number % len(self.bases)]
        seed = f"{self.seed}/{base.name}/{number}"
        mutant = mutate(base, seed)
        self.found[kind] += 1
        self.keep.mkdir(parents=True, exist_ok=True)
        name = f"{self.seed}_{number}"
        path = write_mutant(base, self.keep / name, mutant.data)
        said = {"kind": kind, "base": base.name, "seed": seed, "number": number, "done": mutant.said, "text": text}
        (self.keep / f"{name}.json").write_text(json.dumps(said | {"path": str(path)}, indent=1))
        print(f"{kind}: {base.name}, {mutant.said}\n  {text.strip()[-600:]}", flush=True)
        print(f"  again: {sys.executable} {__file__} --again {self.keep / name}.json", flush=True)

    def hear(self, worker: Worker) -> bool:
        """Take what a worker says. False once it has ended."""
        said = os.read(worker.fd, 1 << 16)
        worker.heard = time.monotonic()
        *lines, worker.rest = (worker.rest + said).split(b"\n")
        for line in lines:
            result = json.loads(line)
            worker.begun = not result
            if result:
                number = worker.numbers[worker.done]
                worker.done += 1
                self.came[result.get("came", "finding")] += 1
                if "kind" in result:
                    self.keep_finding(number, result["kind"], result["text"])
        return bool(said)

    def end(self, worker: Worker) -> range:
        """Reap a worker. What it died of is a finding. Returns the mutants that it has left."""
        os.close(worker.fd)
        _, status = os.waitpid(worker.pid, 0)
        if worker.begun or status != 0:
            number = worker.numbers[min(worker.done, len(worker.numbers) - 1)]  # it may die after the last one
            kind = f"crash (status {status})"
            if os.WIFSIGNALED(status):
                kind = f"crash ({signal.Signals(os.WTERMSIG(status)).name})"
                kind = "hang" if worker.killed else {signal.SIGPROF: "too long"}.get(os.WTERMSIG(status), kind)
            self.came["finding"] += 1
            self.keep_finding(number, kind, (worker.folder / "stderr").read_text(errors="replace"))
            worker.done += 1
        return worker.numbers[worker.done :]

    def go(self) -> None:
        slots = {slot: self.start(slot, self.more()) for slot in range(self.slots)}
        while slots:
            ready, _, _ = select.select([worker.fd for worker in slots.values()], [], [], 1.0)
            for slot, worker in list(slots.items()):
                if time.monotonic() - worker.heard > WATCHDOG_SECONDS:
                    os.kill(worker.pid, signal.SIGKILL)
                    worker.killed, worker.heard = True, time.monotonic()
                if worker.fd in ready and not self.hear(worker):
                    left = self.end(worker)
                    del slots[slot]
                    if time.monotonic() < self.until:
                        slots[slot] = self.start(slot, left or self.more())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default=str(ROOT / "build" / "hostile"))
    parser.add_argument("--again", help="the .json of a finding")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    scratch = Path(tempfile.mkdtemp(prefix="headrace_hostile_", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        (scratch / "bases").mkdir()
        subprocess.run([sys.executable, Path(__file__).with_name("hostile_bases.py"), scratch / "bases"], check=True)
        bases = load_bases(scratch / "bases")
        bases = [base for base in bases if any(word in base.name for word in arguments.only.split(","))]
        if not bases:
            print(f"no file has one of these in its name: {arguments.only}", file=sys.stderr)
            return 2
        if arguments.again:
            said = json.loads(Path(arguments.again).read_text())
            base = next(base for base in bases if base.name == said["base"])
            hr.set_memory(BUDGET_BYTES)
            mutant = mutate(base, said["seed"])
            path = write_mutant(base, scratch, mutant.data)
            print(mutant.said, flush=True)
            with bounded():
                print(read_mutant(base, path, mutant, said["number"]))
            return 0
        run, began = Run(bases, arguments, scratch), time.monotonic()
        run.go()
        tried, seconds = sum(run.came.values()), time.monotonic() - began
        print(f"{len(bases)} files, seed {run.seed}: {tried} mutants in {seconds:.0f} s; ", end="")
        print(", ".join(f"{count} {word}" for word, count in run.came.most_common()))
        found = ", ".join(f"{count} {kind}" for kind, count in run.found.most_common())
        print(f"findings: {run.found.total()}{f' ({found}), kept in {run.keep}' if found else ''}")
        return 1 if run.found else 0
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
