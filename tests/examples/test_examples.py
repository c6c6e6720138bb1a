"""Every program in examples/ runs, on freshly made jets, and says something."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CLASSIFIERS = ("jetclass_accelerate.py", "jetclass_lightning.py", "jetclass_torch.py")
OF_OTHER_DATA = ("icecube.py", "jax_lm.py", "mel_leaks.py", "nanogpt.py", "unet3d.py")  # test_icecube.py and so on
BUILT = ROOT / "build" / "release" / "examples"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pattern for a small data set."""
    folder = tmp_path_factory.mktemp("jets")
    hr.demo(folder, jets=2048, seed=3)
    return str(folder / "train_*.h5")


def run(command: list[str]) -> str:
    """What the example printed; it must succeed."""
    few = {**os.environ, "OMP_NUM_THREADS": "1"}  # torch's threads spin while they wait
    done = subprocess.run(command, capture_output=True, text=True, env=few)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
    return done.stdout


def need_packages(name: str) -> None:
    """Skip where an example imports what is not installed."""
    text = (EXAMPLES / name).read_text()
    for package in ("torch", "lightning", "accelerate"):
        used = f"import {package}" in text or f"headrace.{package}" in text
        if used and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("name", sorted({path.name for path in EXAMPLES.glob("*.py")} - {*CLASSIFIERS, *OF_OTHER_DATA}))
def test_python(name: str, files: str) -> None:
    """With the interpreter that runs the tests."""
    need_packages(name)
    run([sys.executable, str(EXAMPLES / name), files])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_switches_of_the_classifiers(name: str, files: str) -> None:
    """Half precision, accumulated gradients and torch.compile, of which the test leaves the C++ compiler out."""
    need_packages(name)
    switches = ["--batches", "5", "--accumulate", "2", "--amp", "--compile", "eager"]
    said = run([sys.executable, str(EXAMPLES / name), files, *switches])
    assert "3 steps" in said or "over 5 batches" in said


@pytest.mark.parametrize("name", [*CLASSIFIERS, "torch_training.py"])
def test_on_a_device(name: str, files: str) -> None:
    """One that is not there: what is said of steps and batches is by its events."""
    need_packages(name)
    switches = ["fake"] if name == "torch_training.py" else ["--batches", "5", "--device", "fake"]
    said = run([sys.executable, str(EXAMPLES / name), files, *switches])
    assert "the step waited" in said


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.cpp")))
def test_cpp(name: str, files: str) -> None:
    """As built beside the library."""
    if not (BUILT / name).exists():
        pytest.skip("the C++ examples are not built: run make setup")
    run([str(BUILT / name), files])


def test_both_languages_see_the_same(files: str) -> None:
    """The class counts of the C++ example are those of the Python one."""
    if not (BUILT / "epoch").exists():
        pytest.skip("the C++ examples are not built: run make setup")
    cpp = [int(line.split()[2]) for line in run([str(BUILT / "epoch"), files]).splitlines() if line.startswith("class")]
    python = run([sys.executable, str(EXAMPLES / "epoch.py"), files])
    assert sum(cpp) == 2048
    assert str(cpp) in python
