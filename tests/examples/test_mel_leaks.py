"""The mel example on made recordings and on real speech, and its votes against a plain loop over the files."""

import subprocess
import sys
import wave
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mel_leaks.py"
SPEECH = Path("/usr/share/asterisk/sounds")
LONG, SHORT, MELS, FRAMES = 4, 3, 16, 8
HOP, WINDOW = 80, 256


def filters(rate: int) -> np.ndarray:
    """Triangles on the mel scale."""
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + rate / 1400), MELS + 2) / 2595) - 1)
    bins = np.linspace(0, rate / 2, WINDOW // 2 + 1)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    return np.maximum(np.minimum(rising, falling), 0)


def segments(sound: np.ndarray, rate: int) -> np.ndarray | None:
    """Log-mel segments, (long, short, mels, frames); None for a sound that is too short."""
    needed = (LONG * SHORT * FRAMES - 1) * HOP + WINDOW
    if len(sound) < needed:
        return None
    frames = np.lib.stride_tricks.sliding_window_view(sound[:needed], WINDOW)[::HOP] * np.hanning(WINDOW)
    mel = np.log(filters(rate) @ (np.abs(np.fft.rfft(frames, axis=1)).T ** 2) + 1e-3)
    return mel.reshape(MELS, LONG, SHORT, FRAMES).transpose(1, 2, 0, 3).astype(np.float32)


def made_sounds() -> list[tuple[np.ndarray, int]]:
    """Hum of a pump, half of them with the hiss of a leak."""
    random = np.random.default_rng(4)
    time = np.arange(9000) / 8000
    sounds = []
    for i in range(60):
        hum = np.sin(2 * np.pi * random.uniform(80, 120) * time) + 0.3 * random.normal(size=len(time))
        hiss = random.normal(size=len(time)) * random.uniform(0.5, 1)
        sounds.append((hum + (hiss if i % 2 else 0), i % 2))
    return sounds


def speech() -> list[tuple[np.ndarray, int]]:
    """Spoken numbers and letters against other announcements."""
    sounds = []
    for path in sorted(SPEECH.glob("*/**/*.wav")):
        with wave.open(str(path)) as file:
            sound = np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768
        sounds.append((sound, int(path.parent.name in {"digits", "letters", "phonetic"})))
    return sounds


def write_set(path: Path, sounds: list[tuple[np.ndarray, int]]) -> None:
    """Labels are int32, as many files have them; torch's losses take int64."""
    made = [(mel, label) for sound, label in sounds if (mel := segments(sound, 8000)) is not None]
    order = np.random.default_rng(2).permutation(len(made))
    mels = np.stack([made[i][0] for i in order])
    with h5py.File(path, "w") as file:
        file.create_dataset("segments_mel", data=mels, chunks=(7, 2, *mels.shape[2:]), compression="gzip")
        file["labels"] = np.array([made[i][1] for i in order], np.int32)


@pytest.fixture(scope="module", params=["made", "speech"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mel") / "set.h5"
    if request.param == "speech" and not SPEECH.exists():
        pytest.skip("Debian package asterisk-core-sounds-en-wav is not installed")
    write_set(path, made_sounds() if request.param == "made" else speech())
    return path


def losses_of(path: Path, *switches: str) -> list[float]:
    """Run the example; return the mean loss of each epoch."""
    pytest.importorskip("torch", reason="torch is not installed")
    command = [sys.executable, str(EXAMPLE), str(path), "--batch-size", "256", *switches]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recordings held out" in done.stdout
    return [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("epoch")]


def test_the_example_learns(path: Path) -> None:
    losses = losses_of(path, "--epochs", "12")
    assert len(losses) == 12
    assert losses[-1] < losses[0]


def test_switches_of_the_example(path: Path) -> None:
    """Half precision, accumulated gradients and torch.compile, of which the test leaves the C++ compiler out."""
    plain = losses_of(path, "--epochs", "2")
    switched = losses_of(path, "--epochs", "2", "--amp", "--accumulate", "2", "--compile", "eager")
    assert len(switched) == 2
    assert switched != plain  # fewer steps, in another precision


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_labels_of_any_type_and_spectrograms_of_one_frame(tmp_path: Path, dtype: str) -> None:
    random = np.random.default_rng(7)
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["segments_mel"] = random.normal(size=(12, 4, 3, 32, 1)).astype(np.float32)
        file["labels"] = (np.arange(12) % 2).astype(dtype)
    assert len(losses_of(tmp_path / "set.h5", "--epochs", "1")) == 1


def test_votes_are_those_of_a_loop_over_the_files(path: Path) -> None:
    with h5py.File(path) as file:
        mels, labels = file["segments_mel"][:], file["labels"][:]
    weights = np.random.default_rng(3).normal(size=(MELS * FRAMES, 3)).astype(np.float32)
    mel = hr.open(path, {"mel": "segments_mel"}, sample_axes=3, broadcast={"y": "labels"})
    mean, std = mel.stats("mel")
    np.testing.assert_allclose(mean, mels.mean(axis=(0, 1, 2, 3), dtype=np.float64), rtol=1e-9)
    mean32, std32 = np.asarray(mean, np.float32), np.asarray(std, np.float32)
    reducer = hr.GroupReducer(
        reduce=["vote", "mean", "max"],
        nested=["short", "long", "file"],
        sizes={"file": len(mels), "long": LONG, "short": SHORT},
        ids=lambda batch: mel.sample_index(batch["_rows"][:, 1]),
    )
    with hr.Loader(mel.map(T.Standardize("mel", mean, std)), 101, shuffle=True, provenance=True) as loader:
        for batch in loader:
            flat = batch["mel"].reshape(len(batch["mel"]), -1)
            reducer.add(batch, np.stack([row @ weights for row in flat]))  # row by row: no other rounding
            assert np.array_equal(batch["y"], labels[mel.sample_index(batch["_rows"][:, 1])[:, 0]])
    result = reducer.result()["file"]
    for number, recording in enumerate(mels):
        standard = ((recording - mean32) / std32).reshape(LONG, SHORT, -1)
        scores = np.stack([[short @ weights for short in one] for one in standard])
        long_votes = [np.bincount(one.argmax(axis=1), minlength=3).argmax() for one in scores]
        assert result["vote"][number] == np.bincount(long_votes, minlength=3).argmax()
        assert np.array_equal(result["max"][number], scores.max(axis=(0, 1)))
        np.testing.assert_allclose(result["mean"][number], scores.mean(axis=(0, 1)), rtol=1e-5, atol=1e-6)
