"""Memory under real limits, caches under kills: nothing is killed, nothing hangs, no batch is wrong.

Longer than the others: a minute or so.
"""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path
from typing import Any

import pytest
from memory_files import (
    MIB,
    SIZE,
    Group,
    mounted_tmpfs,
    run_child,
    write_rows,
)

# --- real limits -----------------------------------------------------------------------------------------------------

LIMITED = """
room = ROOM * MIB
if LIMIT:
    open(LIMIT, "w").write(str(resident() + room if WHOLE is None else WHOLE * MIB))
else:
    import resource
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    room = (room if WHOLE is None else WHOLE * MIB - resident()) + 4 * (8 + 128) * MIB  # stacks, and arenas of malloc
    resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
"""


def run_limited(group: Group | None, script: str, *, room: int = 0, whole: int | None = None, **values: Any) -> str:
    """Run a script inside a limit: its own memory and so many MiB, or so many MiB in all. Else in RLIMIT_AS."""
    if group is None and os.geteuid() != 0 and resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY:
        pytest.skip("neither a memory cgroup nor RLIMIT_AS can be set here")
    limit = group.limit if group else None
    done = run_child(LIMITED + script, group=group, LIMIT=limit, ROOM=room, WHOLE=whole, **values)
    assert group is None or group.kills() == 0
    return done.stdout


CACHES = ["auto", "none", "ram", "directory", "host"]
CHOOSE = """
options = {
    "directory": {"cache": FOLDER}, "host": {"share": "host"},
}.get(CACHE, {"cache": CACHE})
"""


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize(("kind", "budget"), [("noise", 48), ("even", 64), ("contiguous", 160)])
def test_nobody_is_killed_in_a_cgroup(
    group: Group | None, rows, tmp_path: Path, cache: str, kind: str, budget: int
) -> None:
    run_limited(
        group,
        CHOOSE
        + """
try:
    loader = hr.Loader(PATH, 64, shuffle=True, memory=BUDGET * MIB, threads=2, **options)
except hr.OutOfBudgetError:
    assert CACHE == "ram" and BUDGET < SIZE + 32
else:
    assert run(loader, 2) == 2 * len(loader.dataset)
    assert loader.report().memory.peak_bytes <= BUDGET * MIB
""",
        room=budget + 64,
        PATH=rows[kind],
        BUDGET=budget,
        CACHE=cache,
        FOLDER=str(tmp_path / "cache"),
        SIZE=4 * SIZE if kind == "even" else SIZE,
    )


@pytest.mark.parametrize("cache", ["auto", "none", "directory", "host"])
def test_the_default_budget_keeps_to_the_cgroup(group: Group | None, rows, tmp_path: Path, cache: str) -> None:
    run_limited(
        group,
        CHOOSE
        + """
loader = hr.Loader(PATH, 64, shuffle="exact" if CACHE == "none" else True, **options)
there_is = 600 * MIB if LIMIT else room
assert loader.report().memory.budget_bytes < there_is, loader.explain()
run(loader, 2, most=100 if CACHE == "none" else 150 if CACHE == "directory" else None)
assert loader.report().memory.budget_bytes < there_is
""",
        whole=600,
        PATH=rows["even"],
        CACHE=cache,
        FOLDER=str(tmp_path / "cache"),
    )


@pytest.mark.parametrize("kind", ["noise", "even"])
@pytest.mark.parametrize("batch", [64, 2000])
def test_a_small_container_works_or_says_why_not(group: Group | None, rows, kind: str, batch: int) -> None:
    run_limited(
        group,
        """
try:
    loader = hr.Loader(PATH, BATCH, shuffle=True)
    assert run(loader, 2) == 2 * len(loader.dataset)
except hr.OutOfBudgetError as error:
    assert "memory=" in str(error) or "budget" in str(error), error
    print("refused")
""",
        whole=256,
        PATH=rows[kind],
        BATCH=batch,
    )


@pytest.mark.parametrize("set_to", ["600MiB", "4GiB"])
def test_a_budget_beyond_the_limit_does_not_kill(group: Group | None, rows, set_to: str) -> None:
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    run_limited(
        group,
        """
warnings.simplefilter("ignore")
hr.set_memory(SET_TO)
loader = hr.Loader(PATH, 64, shuffle=True)
assert run(loader, 2) == 2 * len(loader.dataset)
""",
        whole=450,
        PATH=rows["even"],
        SET_TO=set_to,
    )


def test_other_processes_take_the_memory_of_a_cache(group: Group | None, rows) -> None:
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    run_limited(
        group,
        """
loader = hr.Loader(PATH, 64, shuffle=True, cache="ram")
assert run(loader, 1) == len(loader.dataset)
held = loader.report().memory.planned_bytes
assert held > 384 * MIB
taken = np.ones(560 * MIB, np.uint8)  # by the program itself, or by another one
deadline = time.monotonic() + 30
while loader.report().memory.planned_bytes == held:
    try:
        assert run(loader, 1) == len(loader.dataset)
    except hr.OutOfBudgetError:
        break  # cache="ram" was asked for, and cannot be had any more
    assert time.monotonic() < deadline, "it holds what others need"
""",
        whole=1000,
        PATH=rows["even"],
    )


def test_a_limit_that_shrinks_while_running(group: Group | None, rows) -> None:
    if group is None:
        pytest.skip("no memory cgroup can be made here, and RLIMIT_AS is not looked at again")
    run_limited(
        group,
        """
loader = hr.Loader(PATH, 64, shuffle=True)
assert run(loader, 2) == 2 * len(loader.dataset)
before = loader.report().memory.budget_bytes
target = 400 * MIB
deadline = time.monotonic() + 30
while True:  # as an operator who shrinks a container, as soon as what it holds allows
    try:
        open(LIMIT, "w").write(str(target))
        break
    except OSError:
        assert time.monotonic() < deadline, "it holds too much to be shrunk"
        run(loader, 1)
for _ in range(3):
    assert run(loader, 1) == len(loader.dataset)
""",
        whole=1200,
        PATH=rows["noise"],
    )


def test_a_cache_directory_in_memory_does_not_kill(group: Group | None, rows, tmp_path: Path) -> None:
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    with mounted_tmpfs(tmp_path, "size=800m") as why:
        if why:
            pytest.skip(f"a file system cannot be mounted here: {why}")
        run_limited(
            group,
            """
loader = hr.Loader(PATH, 64, memory=64 * MIB, threads=2, cache=FOLDER)
assert run(loader, 2) == 2 * len(loader.dataset)
""",
            room=128,
            PATH=rows["even"],
            FOLDER=str(tmp_path / "cache"),
        )


@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_a_cache_directory_larger_than_the_memory_is_read_as_the_window_says(
    group: Group | None, rows, tmp_path: Path, shuffle: object
) -> None:
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    out = run_limited(
        group,
        """
def read_bytes(): return int(open("/proc/self/io").read().split("read_bytes:")[1].split()[0])
run(hr.Loader(PATH, 64, memory=BUDGET, cache=FOLDER, threads=2), 1)
loader = hr.Loader(PATH, 64, shuffle=SHUFFLE, memory=BUDGET, cache=FOLDER, threads=2)
before = read_bytes()
assert run(loader, 2) == 2 * len(loader.dataset)
assert loader.report().chunks_decoded == 0
window = loader.report().memory.slots - 2
print(read_bytes() - before, len(loader.dataset) * loader.dataset.sample_bytes, len(loader) / window)
""",
        room=128,
        PATH=rows["even"],
        BUDGET=64 * MIB,
        FOLDER=str(tmp_path / "cache"),
        SHUFFLE=shuffle,
    )
    read, data, passes = map(float, out.split())
    if read == 0:
        pytest.skip("the temporary directory lies in memory")
    # A block is read whole for each window that wants rows of it, and once more to be compared with its checksum.
    assert read / data <= 2 * (passes + 1) + 1, f"{read / data:.1f} times the data in two epochs"


# --- peak of the process ---------------------------------------------------------------------------------------------


def random_configuration(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    kind = draw.choice(["noise", "contiguous", "even", "gzip"])
    return {
        "kind": kind,
        "epochs": 2,
        "budget": draw.choice([64, 96, 128, 192, 256, 384, 512]),
        "cache": draw.choice(["auto", "auto", "none", "ram", "host", "directory"]),
        "options": {
            "batch_size": draw.choice([16, 64, 256, 700]),
            "shuffle": draw.choice([False, True, "exact"]),
            "threads": draw.choice([1, 2, 4, 8]),
            "seed": seed,
        },
        "most": 40,
    }


PEAK = """
options = CONFIG["options"]
budget = CONFIG["budget"] * MIB
options["memory"] = budget
if CONFIG["cache"] == "host": options["share"] = "host"
else: options["cache"] = FOLDER if CONFIG["cache"] == "directory" else CONFIG["cache"]
gc.collect()
with Sampled() as memory:
    try:
        loader = hr.Loader(PATH, **options)
    except hr.OutOfBudgetError as error:
        print(json.dumps({"refused": str(error)}))
        raise SystemExit(0)
    batch_bytes = loader.batch_size * loader.dataset.sample_bytes
    whole = options["shuffle"] == "exact" and not loader.report().memory.cache_bytes
    run(loader, CONFIG["epochs"], most=CONFIG["most"] if whole else None)
    report = loader.report()
over = memory.most - memory.before - budget
print(json.dumps({"over": over / MIB, "kind": report.cache.kind, "peak": report.memory.peak_bytes / MIB,
                  "planned": report.memory.planned_bytes / MIB, "used": (memory.most - memory.before) / MIB}))
assert report.memory.peak_bytes <= budget
assert over <= 64 * MIB, (over / MIB, CONFIG, str(report.memory), loader.explain())
"""


@pytest.mark.parametrize("seed", range(20))
def test_peak_memory_of_random_configurations(rows, tmp_path: Path, seed: int) -> None:
    config = random_configuration(seed)
    done = run_child(PEAK, PATH=rows[config["kind"]], CONFIG=config, FOLDER=str(tmp_path / "cache"))
    print(config, done.stdout)


# --- several loaders, threads, forks ---------------------------------------------------------------------------------

CHURN = """
import random
hr.set_memory("48MiB")
stop = time.monotonic() + SECONDS
problems, epochs = [], [0]
shared = hr.open(PATHS[0])

def churn(seed):
    draw = random.Random(seed)
    loaders = []
    try:
        while time.monotonic() < stop:
            if len(loaders) < 3 and draw.random() < 0.3:
                options = {"shuffle": draw.choice([False, True, "exact"]), "threads": draw.choice([1, 2]),
                           "cache": draw.choice(["auto", "auto", "none", "ram", FOLDER]), "seed": draw.randrange(3),
                           "memory": draw.choice([None, "12MiB", "30MiB"])}
                if options["cache"] in ("auto", "ram") and draw.random() < 0.3: options["share"] = "host"
                try: loaders.append(hr.Loader(draw.choice([*PATHS, shared]), draw.choice([16, 50]), **options))
                except hr.OutOfBudgetError: pass
            if not loaders: continue
            loader = draw.choice(loaders)
            what = draw.random()
            try:
                if what < 0.55:
                    most = draw.choice([None, 1, 5])
                    run(loader, 1, most=most)
                    epochs[0] += 1
                elif what < 0.65:
                    iterator = iter(loader)
                    next(iterator)
                    other = draw.choice(loaders)
                    if other is not loader: run(other, 1, most=3)
                    check(next(iterator))
                elif what < 0.75:
                    loaders.remove(loader)
                    if draw.random() < 0.5: loader.close()
                elif what < 0.8:
                    str(loader.report()), loader.explain()
                elif what < 0.85:
                    hr.set_memory(draw.choice(["32MiB", "48MiB", "64MiB"]))
                elif what < 0.9 and FORKS:
                    child = os.fork()
                    if child == 0: os._exit(0)
                    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                elif what < 0.93:
                    try: loader.preload(lambda *_: draw.random() < 0.9)
                    except (hr.InvalidArgumentError, hr.Error): pass
                else:
                    gc.collect()
            except hr.OutOfBudgetError:
                if draw.random() < 0.5 and loader in loaders: loaders.remove(loader); loader.close()
    except BaseException as error:
        import traceback
        problems.append(traceback.format_exc())

warnings.simplefilter("ignore")
threads = [threading.Thread(target=churn, args=(SEED * 100 + i,)) for i in range(2)]
for t in threads: t.start()
for t in threads: t.join()
assert not problems, problems[0]
print(epochs[0])
"""


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("forks", [False, True])
def test_loaders_of_two_threads_come_and_go(tmp_path: Path, seed: int, forks: bool) -> None:
    paths = [write_rows(tmp_path / f"rows_{i}.h5", 4 + 20 * i, noise=bool(i % 2), row=4096) for i in range(2)]
    done = run_child(
        CHURN, PATHS=paths, FOLDER=str(tmp_path / "cache"), SEED=seed, FORKS=forks, SECONDS=3 if forks else 2
    )
    assert int(done.stdout) > 3


def test_a_fork_in_the_middle_of_a_build_and_a_cache(rows, tmp_path: Path) -> None:
    run_child(
        """
        faulthandler.cancel_dump_traceback_later()  # it is no friend of fork(): the alarm is the watchdog
        signal.alarm(100)
        loaders = [hr.Loader(PATH, 64, shuffle=True, cache=FOLDER), hr.Loader(PATH, 64, cache="ram", memory="160MiB"),
                   hr.Loader(PATH, 64, memory="40MiB"), hr.Loader(PATH, 64, share="host")]
        for loader in loaders:
            for i, batch in enumerate(loader):
                check(batch)
                if i in (5, 40):
                    child = os.fork()
                    if child == 0:
                        signal.alarm(30)
                        try: next(iter(loader)); os._exit(3)
                        except hr.ForkedError: pass
                        loader.close(); del loader, loaders, batch; gc.collect()
                        mine = hr.Loader(PATH, 64, memory="24MiB", threads=1)
                        assert len(check(next(iter(mine)))) == 64
                        sys.exit(0)
                    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    assert status == 0, status
            run(loader, 1)
        """,
        PATH=rows["gzip"],
        FOLDER=str(tmp_path / "cache"),
    )
