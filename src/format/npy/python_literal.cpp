#include "format/npy/python_literal.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::npy {
namespace {

constexpr int kMostDepth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Literal> whole() {
    HEADRACE_ASSIGN(Literal value, parse(0));
    skip_space();
    if (at_ < text_.size()) return wrong("the end");
    return value;
  }

 private:
  using Kind = Literal::Kind;

  [[nodiscard]] Error wrong(std::string_view expected) const {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the header is no Python literal: {} is expected at its byte {}", expected, at_));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  /// Skip white space, then `c` if it stands there.
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Literal> parse(int depth) {
    if (depth > kMostDepth) return wrong("less nesting");
    skip_space();
    if (at_ >= text_.size()) return wrong("a value");
    Literal value;
    const char c = text_[at_];
    if (c == '\'' || c == '"') return parse_text();
    if (c >= '0' && c <= '9') return parse_number();
    if (take_word("True") || take_word("False")) {
      value.kind = Kind::kBool;
      value.number = text_[at_ - 2] == 'u' ? 1 : 0;
      return value;
    }
    if (take_word("None")) return value;
    if (take('{')) return parse_items(Kind::kDict, '}', depth);
    if (take('[')) return parse_items(Kind::kList, ']', depth);
    if (take('(')) return parse_items(Kind::kTuple, ')', depth);
    return wrong("a value");
  }

  Result<Literal> parse_items(Kind kind, char close, int depth) {
    Literal value;
    value.kind = kind;
    bool comma = true;  // before the next item
    while (!take(close)) {
      if (!comma) return wrong("a comma");
      HEADRACE_ASSIGN(Literal item, parse(depth + 1));
      value.items.push_back(std::move(item));
      if (kind == Kind::kDict) {
        if (!take(':')) return wrong("a colon");
        HEADRACE_ASSIGN(Literal second, parse(depth + 1));
        value.items.push_back(std::move(second));
      }
      comma = take(',');
    }
    // (3) is a number in brackets, (3,) a tuple.
    if (kind == Kind::kTuple && value.items.size() == 1 && !comma) {
      Literal only = std::move(value.items[0]);
      return only;
    }
    return value;
  }

  Result<Literal> parse_number() {
    Literal value;
    value.kind = Kind::kNumber;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value.number, std::uint64_t{10}, &value.number) ||
          __builtin_add_overflow(value.number, static_cast<std::uint64_t>(text_[at_] - '0'), &value.number))
        return wrong("a number below 2^64");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return value;
  }

  Result<Literal> parse_text() {
    Literal value;
    value.kind = Kind::kText;
    const char quote = text_[at_++];
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ >= text_.size() || (text_[at_] != '\\' && text_[at_] != '\'' && text_[at_] != '"'))
          return wrong("a plain character");
      }
      value.text += text_[at_];
    }
    if (at_ >= text_.size()) return wrong("the closing quote");
    ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Literal* Literal::find(std::string_view key) const {
  for (std::size_t i = 0; kind == Kind::kDict && i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::kText && items[i].text == key) return &items[i + 1];
  return nullptr;
}

Result<Literal> parse_literal(std::string_view text) {
  return Parser(text).whole();
}

}  // namespace headrace::npy
