"""scripts/check_type_names.py finds two types of one name, which the linker would mix up."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_type_names.py"
SETTINGS = "namespace headrace {\nclass Settings {\n};\n}  // namespace headrace\n"


def check(root: Path, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        path = root / "src" / f"{name}.h"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True, check=False)


def test_two_types_of_one_name(tmp_path: Path) -> None:
    done = check(tmp_path, a=SETTINGS, b=SETTINGS.replace("class", "struct"))
    assert done.returncode == 1
    assert "headrace::Settings is defined in" in done.stdout
    assert "a.h and in" in done.stdout


def test_names_of_their_own(tmp_path: Path) -> None:
    """Other namespaces, unnamed ones, members, and what is only declared."""
    done = check(
        tmp_path,
        a=SETTINGS,
        b=SETTINGS.replace("headrace", "other"),
        c=SETTINGS.replace("class", "namespace {\nclass").replace("};\n", "};\n}  // namespace\n"),
        d=SETTINGS.replace("class Settings {", "class Settings;\nstruct Options {\n  struct Settings {\n  };"),
        e="namespace headrace {\nstruct Options::Settings {\n};\n}  // namespace headrace\n",
    )
    assert done.returncode == 0, done.stdout
