"""The reader of C++ headers misses none of what a header can say, and takes the right comment for each name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from manual.cpp_headers import header_entries  # noqa: E402

HEADER = """
#include <vector>
namespace headrace {
// struct Commented { int no; };
/// A kind. Of thing.
enum class Kind : std::uint8_t {
  kOne,  ///< The first,
         ///< of all.
  /// The second.
  kTwo = 2
};
/// An outer class,
/// in two lines.
class Outer final : public Base<int> {
 public:
  struct Impl;
  /// Inside.
  struct Inner { int depth = 0; std::vector<std::pair<int, int>> pairs = {}; };
  Outer(int a, std::function<bool()> go_on = {});
  /// Make one of text.
  explicit Outer(std::string text) : text_(std::move(text)), b_{1} {}
  ~Outer();
  Outer& operator=(Outer&&) noexcept;
  /// Table.
  [[nodiscard]] const std::map<std::string, int>& table(int i = 3, std::span<const int> more = {}) const { return a_; }
  Outer& with(std::string text) & ;
  template <class T> std::span<T> as() const;
  [[nodiscard]] int last() const { return 1; }  ///< The last.
  /// One of several.
  int over(int a);
  int over();
  friend bool operator==(const Outer&, const Outer&) = default;
  int tail;
  // not a doc comment
  int end_of_it = 3;  ///< The end.
 private:
  void hidden();
  std::map<std::string, int> table_;
};
struct Options {
  std::chrono::nanoseconds timeout{0};
  /// Both.
  std::optional<int> rank = {}, world_size = {};
};
std::string text_of(const Outer& outer, const Options& options = {});
namespace detail { void inside(); }
inline constexpr int kLimit = 3;
/// Any of them.
using Choice = std::variant<Outer, Options>;
}
"""


def test_names_usage_and_comments() -> None:
    """One of everything that a public header has."""
    found = {}
    for entry in header_entries(HEADER):
        for name, one in entry.all(dot="::"):
            found[name, one.usage] = (one.type, one.doc.replace("\n", " "))
    assert found == {
        ("Kind", "Kind"): ("", "A kind. Of thing."),
        ("Kind::kOne", "kOne"): ("", "The first, of all."),
        ("Kind::kTwo", "kTwo"): ("", "The second."),
        ("Outer", "Outer"): ("", "An outer class, in two lines."),
        ("Outer::Inner", "Inner"): ("", "Inside."),
        ("Outer::Inner::depth", "depth = 0"): ("int", ""),
        ("Outer::Inner::pairs", "pairs"): ("vector<pair<int, int>>", ""),
        ("Outer::Outer", "Outer(text)"): ("", "Make one of text."),
        ("Outer::table", "table(i = 3, more = {})"): ("map<string, int>", "Table."),
        ("Outer::with", "with(text)"): ("Outer", ""),
        ("Outer::as", "as()"): ("span<T>", ""),
        ("Outer::last", "last()"): ("int", "The last."),
        ("Outer::over", "over(a)"): ("int", "One of several."),
        ("Outer::over", "over()"): ("int", "One of several."),
        ("Outer::tail", "tail"): ("int", ""),
        ("Outer::end_of_it", "end_of_it = 3"): ("int", "The end."),
        ("Options", "Options"): ("", ""),
        ("Options::timeout", "timeout = 0"): ("chrono::nanoseconds", ""),
        ("Options::rank", "rank"): ("optional<int>", "Both."),
        ("Options::world_size", "world_size"): ("optional<int>", "Both."),
        ("text_of", "text_of(outer, options = {})"): ("string", ""),
        ("kLimit", "kLimit = 3"): ("int", ""),
        ("Choice", "Choice"): ("variant<Outer, Options>", "Any of them."),
    }
