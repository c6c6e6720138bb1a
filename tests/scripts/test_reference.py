"""docs/reference.md lists every public name, and the reader of public names misses none of what a header can say."""

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from public_names import cpp_names, header_names, python_names  # noqa: E402


def words(text: str) -> set[str]:
    """Every word in code, `like this`, but for examples."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def missing(names: set[str], listed: set[str]) -> list[str]:
    """The names whose last part is not listed."""
    return sorted(name for name in names if re.split(r"::|\.", name)[-1] not in listed)


def sections() -> tuple[set[str], set[str]]:
    """The words of the page's Python part and of its C++ part."""
    python, cpp = (ROOT / "docs" / "reference.md").read_text().split("\n## C++", 1)
    return words(python), words(cpp)


def test_every_python_name_is_listed() -> None:
    """Names of the package, and members of its classes."""
    names = python_names(ROOT)
    assert {
        "open",
        "Loader.set_epoch",
        "Dataset.split",
        "FieldInfo.dtype",
        "Report.wall_seconds",
        "Report.Cache.hits",
    } <= names
    assert missing(names, sections()[0]) == []


def test_every_cpp_name_is_listed() -> None:
    """What the headers declare. The members of Report are those of Python's."""
    names = cpp_names(ROOT)
    assert {
        "open",
        "Loader::Epoch::wait",
        "LoaderOptions::timeout",
        "Report::rank",
        "Tail",
    } <= names
    python, cpp = sections()
    report = {name for name in names if name.startswith("Report::")}
    assert missing(names - report, cpp) == []
    assert missing(report, cpp | python) == []


HEADER = """
#include <vector>
namespace headrace {
// struct Commented { int no; };
enum class Kind : std::uint8_t { kOne, kTwo };
class Outer final : public Base<int> {
 public:
  struct Impl;
  struct Inner { int depth = 0; std::vector<std::pair<int, int>> pairs = {}; };
  Outer(int a, std::function<bool()> go_on = {});
  ~Outer();
  [[nodiscard]] const std::map<std::string, int>& table(int i = 3) const { return table_; }
  Outer& with(std::string text) & ;
  template <class T> std::span<T> as() const;
  friend bool operator==(const Outer&, const Outer&) = default;
 private:
  void hidden();
  std::map<std::string, int> table_;
};
struct Options { std::chrono::nanoseconds timeout{0}; std::optional<int> rank = {}, world_size = {}; };
std::string text_of(const Outer& outer, const Options& options = {});
namespace detail { void inside(); }
inline constexpr int kLimit = 3;
}
"""


def test_headers_are_read() -> None:
    """One of everything that a public header has."""
    assert header_names(HEADER) == {
        "Kind", "Outer", "Outer::Inner", "Outer::Inner::depth", "Outer::Inner::pairs", "Outer::table", "Outer::with",
        "Outer::as", "Options", "Options::timeout", "Options::rank", "Options::world_size", "text_of", "kLimit",
    }  # fmt: skip


def test_a_name_that_is_not_listed_is_found() -> None:
    """The page is searched for words in code, not for text."""
    assert missing({"open", "Loader.preload", "hidden"}, words("`open(x)` and preload, `Loader`: `a.preload()`")) == [
        "hidden"
    ]
    assert missing({"Loader.preload"}, words("`open(x)` and preload")) == ["Loader.preload"]
