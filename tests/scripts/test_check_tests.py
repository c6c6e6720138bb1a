"""The check of the Python tests names what lies in the wrong place, what is unused, and what is written twice."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_tests.py"
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef rows():\n    return list(range(5))\n"


def check(root: Path, files: dict[str, str]) -> tuple[int, str]:
    """Writes a small tree and checks it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_tree_in_order_passes(tmp_path: Path) -> None:
    """Rooms and sub-folders that are full, helpers of tests and of helpers, and fixtures that only look alike."""
    full = {f"python/tests/data/{folder}test_{n}.py": "" for folder in ("", "windows/") for n in range(45)}
    status, output = check(
        tmp_path,
        {
            **full,
            "python/tests/conftest.py": "from jets import write\n\n" + FIXTURE,
            "python/tests/helpers/jets.py": "import bytes_of as b\n",
            "python/tests/helpers/bytes_of.py": "",
            "python/tests/helpers/damage.py": "",
            "tests/matrix/test_a.py": "def test_a():\n    from damage import flip\n",
            "python/tests/loader/test_a.py": "N = 1\n" + FIXTURE.replace("5", "N"),
            "python/tests/loader/test_b.py": "N = 2\n" + FIXTURE.replace("5", "N"),
            "python/tests/loader/test_c.py": "from jets import N\n" + FIXTURE.replace("5", "N"),
            "python/tests/loader/test_d.py": "from bytes_of import N\n" + FIXTURE.replace("5", "N"),
            "python/tests/loader/test_e.py": "def rows():\n    n = 5\n    return list(range(n))\n",
            "python/tests/loader/test_f.py": "def rows():\n    n = 5\n    return list(range(n))\n",
        },
    )
    assert status == 0, output
    assert output == "tests: 96 files of Python tests in 3 folders, fixtures written once\n"


@pytest.mark.parametrize("folder", ["python/tests", "python/tests/helpers"])
def test_a_test_in_no_room_is_named(tmp_path: Path, folder: str) -> None:
    """The folders that there are stand beside it."""
    folders = ["python/tests/data/test_a.py", "python/tests/data/windows/test_b.py", "python/tests/loader/test_c.py"]
    status, output = check(tmp_path, dict.fromkeys([*folders, f"{folder}/test_d.py"], ""))
    assert status == 1
    says = f"a test lies in the folder of its subject, not in {folder}; the subjects are data, data/windows, loader"
    assert output == f"{folder}/test_d.py: {says}\n"


@pytest.mark.parametrize("folder", ["loader", "data/windows"])
def test_a_room_that_is_too_full_is_named(tmp_path: Path, folder: str) -> None:
    """Helpers and fixtures beside the tests do not count."""
    names = [*(f"test_{number}.py" for number in range(45)), "conftest.py", "program.py"]
    status, output = check(tmp_path, {f"python/tests/{folder}/{name}": "" for name in names})
    assert status == 0, output
    status, output = check(tmp_path, {f"python/tests/{folder}/test_45.py": ""})
    assert status == 1
    assert output.startswith(f"python/tests/{folder}: 46 test files, where 45 may be: ")


@pytest.mark.parametrize("test", ["import jet\n", '"""jets"""\n', "from .jets import x\nfrom . import jets\n"])
def test_a_helper_that_is_not_imported_is_named(tmp_path: Path, test: str) -> None:
    """That it imports itself, or that its name is in a text, does not count."""
    helper = {"python/tests/helpers/jets.py": "import jets\n", "python/tests/helpers/jet.py": ""}
    status, output = check(tmp_path, {**helper, "python/tests/data/test_a.py": "import jet\n" + test})
    assert status == 1
    assert output.startswith("python/tests/helpers/jets.py: no test imports jets: ")
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        FIXTURE,
        FIXTURE.replace("fixture", 'fixture(scope="module", params=[1, 2])'),
        FIXTURE.replace("import pytest", "from pytest import fixture").replace("@pytest.fixture", "@fixture"),
        "N = 5\n" + FIXTURE.replace("5", "N"),
        "from jets import N\n" + FIXTURE.replace("5", "N"),
        "def five():\n    return 5\n\n\n" + FIXTURE.replace("5", "five()"),
    ],
)
def test_a_fixture_that_is_written_twice_is_named(tmp_path: Path, text: str) -> None:
    """Both places are named; what else is in the files may differ."""
    one, other = "python/tests/data/test_a.py", "python/tests/loader/test_b.py"
    files = {"python/tests/helpers/jets.py": "N = 5\n", "python/tests/tools/test_c.py": "import jets\n"}
    status, output = check(tmp_path, {**files, one: text, other: f"import json\n\n{text}\nM = 7\n"})
    assert status == 1
    line = next(n for n, content in enumerate(text.splitlines(), start=1) if content.startswith("@"))
    assert output.startswith(f"{other}:{line + 2}: the fixture rows is in {one}:{line} too: ")
    assert output.count("\n") == 1


def test_a_fixture_of_two_lines_may_be_written_twice(tmp_path: Path) -> None:
    """It is as short as the import that would replace it."""
    text = "import pytest\n\n\n@pytest.fixture\ndef rows(): return [1]\n"
    status, output = check(tmp_path, {"python/tests/data/test_a.py": text, "python/tests/data/test_b.py": text})
    assert status == 0, output
