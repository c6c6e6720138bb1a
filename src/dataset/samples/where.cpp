#include "dataset/samples/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace headrace {
namespace {

constexpr std::size_t kMostParentheses = 64;  // parentheses inside each other
constexpr std::size_t kMostLetters = 10000;   // of the whole text
constexpr std::array<std::string_view, 6> kOperators{"==", "!=", "<", "<=", ">", ">="};

bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

class WhereParser {
 public:
  WhereParser(std::string_view text, std::string_view field, std::size_t features, bool scalar)
      : text_(text), scalar_(scalar) {
    where_.field_ = field;
    where_.features_ = features;
  }

  Result<Where> parse() {
    if (text_.size() > kMostLetters) return wrong(fmt::format("it has {} letters", text_.size()));
    HEADRACE_TRY(expression(0));
    skip_space();
    if (at_ < text_.size()) return wrong(fmt::format("'{}' comes after the end", rest()));
    std::size_t held = 0;
    for (const Where::Step& step : where_.steps_) {
      held += step.op < Where::Op::kAnd ? 1 : std::size_t{0} - 1;
      where_.depth_ = std::max(where_.depth_, held);
    }
    return std::move(where_);
  }

 private:
  Status expression(std::size_t depth) {
    if (depth > kMostParentheses) return wrong("too many parentheses lie inside each other");
    HEADRACE_TRY(all(depth));
    while (take_word("or")) {
      HEADRACE_TRY(all(depth));
      where_.steps_.push_back({Where::Op::kOr, 0, 0});
    }
    return {};
  }
  Status all(std::size_t depth) {
    HEADRACE_TRY(comparison(depth));
    while (take_word("and")) {
      HEADRACE_TRY(comparison(depth));
      where_.steps_.push_back({Where::Op::kAnd, 0, 0});
    }
    return {};
  }
  Status comparison(std::size_t depth) {
    if (take('(')) {
      HEADRACE_TRY(expression(depth + 1));
      if (!take(')')) return wrong(fmt::format("a ')' is missing before '{}'", rest()));
      return {};
    }
    Where::Step step{};
    if (at_field()) {
      HEADRACE_ASSIGN(step.feature, operand());
      HEADRACE_ASSIGN(step.op, relation());
      HEADRACE_ASSIGN(step.number, number());
    } else {
      HEADRACE_ASSIGN(step.number, number());
      HEADRACE_ASSIGN(const Where::Op op, relation());
      step.op = turned(op);
      HEADRACE_ASSIGN(step.feature, operand());
    }
    skip_space();
    if (at_ < text_.size() && std::string_view("<>=!").find(text_[at_]) != std::string_view::npos)
      return wrong("two comparisons follow each other; write 'and' between them");
    where_.steps_.push_back(step);
    return {};
  }
  /// FIELD or FIELD[..., k].
  Result<std::size_t> operand() {
    if (!at_field()) return wrong(fmt::format("'{}' is not the field '{}'", rest(), where_.field_));
    at_ += where_.field_.size();
    if (!take('[')) return Where::kEach;
    if (scalar_) return wrong(fmt::format("'{}' is one number a sample and has no axis", where_.field_));
    const auto wanted = [&] {
      return wrong(fmt::format("'[..., k]' with a whole number k is wanted at '{}'", rest()));
    };
    skip_space();
    if (!text_.substr(at_).starts_with("...")) return wanted();
    at_ += 3;
    if (!take(',')) return wanted();
    skip_space();
    std::int64_t index = 0;
    const char* const end = text_.data() + text_.size();
    const auto [last, error] = std::from_chars(text_.data() + at_, end, index);
    if (error != std::errc()) return wanted();
    at_ = static_cast<std::size_t>(last - text_.data());
    if (!take(']')) return wanted();
    const auto features = static_cast<std::int64_t>(where_.features_);
    if (index < -features || index >= features)
      return wrong(fmt::format("entry {} was asked for; the last axis of '{}' has {}", index, where_.field_, features));
    return static_cast<std::size_t>(index < 0 ? index + features : index);
  }
  Result<Where::Op> relation() {
    skip_space();
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < kOperators.size(); ++i)  // the longest
      if (text_.substr(at_).starts_with(kOperators[i]) && (!found || kOperators[i].size() > kOperators[*found].size()))
        found = i;
    if (!found) return wrong(fmt::format("one of ==, !=, <, <=, >, >= is wanted at '{}'", rest()));
    at_ += kOperators[*found].size();
    return static_cast<Where::Op>(*found);
  }
  Result<double> number() {
    skip_space();
    std::string_view left = text_.substr(at_);
    const bool plus = left.starts_with('+');
    if (plus) left.remove_prefix(1);
    double value = 0;
    const auto [last, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    const auto length = static_cast<std::size_t>(last - left.data());
    if (error != std::errc() || std::isnan(value) || (plus && left.starts_with('-')) ||
        (length < left.size() && is_word_letter(left[length])))
      return wrong(fmt::format("a number is wanted at '{}'", rest()));
    at_ += length + (plus ? 1 : 0);
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    const std::string_view left = text_.substr(at_);
    if (!left.starts_with(word) || (left.size() > word.size() && is_word_letter(left[word.size()]))) return false;
    at_ += word.size();
    return true;
  }
  bool at_field() {
    skip_space();
    const std::string_view left = text_.substr(at_);
    const std::size_t size = where_.field_.size();
    return left.starts_with(where_.field_) && (left.size() == size || !is_word_letter(left[size]));
  }
  [[nodiscard]] std::string rest() const {
    constexpr std::size_t kShown = 20;
    const std::string_view left = text_.substr(std::min(at_, text_.size()));
    return left.empty() ? "the end" : std::string(left.substr(0, kShown));
  }
  static Where::Op turned(Where::Op op) {
    switch (op) {
      case Where::Op::kLess:
        return Where::Op::kGreater;
      case Where::Op::kLessEqual:
        return Where::Op::kGreaterEqual;
      case Where::Op::kGreater:
        return Where::Op::kLess;
      case Where::Op::kGreaterEqual:
        return Where::Op::kLessEqual;
      default:
        return op;
    }
  }
  [[nodiscard]] Error wrong(const std::string& why) const {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("where=\"{}\", letter {}: {}", text_.substr(0, 200), at_, why))
        .with_field(where_.field_)
        .with_hint(fmt::format("It compares '{0}' (every value for itself) or '{0}[..., k]' (entry k of the last "
                               "axis) with numbers; join comparisons with 'and', 'or' and parentheses.",
                               where_.field_));
  }

  const std::string_view text_;
  const bool scalar_;
  std::size_t at_ = 0;
  Where where_;
};

Result<Where> Where::parse(std::string_view text, std::string_view field, std::size_t features, bool scalar) {
  return WhereParser(text, field, features, scalar).parse();
}

void Where::round_numbers(double (*round)(double)) {
  for (Step& step : steps_)
    if (step.op < Op::kAnd) step.number = round(step.number);
}

void Where::compare(const Step& step, std::span<const double> values, std::span<std::uint8_t> out) const {
  const auto fill = [&](auto holds) {
    const double number = step.number;
    if (step.feature == kEach) {
      for (std::size_t i = 0; i < values.size(); ++i) out[i] = holds(values[i], number);
      return;
    }
    for (std::size_t i = 0; i < values.size(); i += features_) {
      const bool taken = holds(values[i + step.feature], number);
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(i), features_, static_cast<std::uint8_t>(taken));
    }
  };
  switch (step.op) {
    case Op::kEqual:
      return fill([](double a, double b) { return a == b; });
    case Op::kNotEqual:
      return fill([](double a, double b) { return a != b; });
    case Op::kLess:
      return fill([](double a, double b) { return a < b; });
    case Op::kLessEqual:
      return fill([](double a, double b) { return a <= b; });
    case Op::kGreater:
      return fill([](double a, double b) { return a > b; });
    default:
      return fill([](double a, double b) { return a >= b; });
  }
}

void Where::choose(std::span<const double> values, std::span<std::uint8_t> chosen,
                   std::span<std::uint8_t> spare) const {
  std::size_t held = 0;
  const auto level = [&](std::size_t i) { return spare.subspan(i * values.size(), values.size()); };
  for (const Step& step : steps_) {
    if (step.op < Op::kAnd) {
      compare(step, values, level(held++));
      continue;
    }
    const std::span<std::uint8_t> to = level(held - 2), from = level(held - 1);
    for (std::size_t i = 0; i < values.size(); ++i)
      to[i] = static_cast<std::uint8_t>(step.op == Op::kAnd ? to[i] & from[i] : to[i] | from[i]);
    --held;
  }
  std::ranges::copy(level(0), chosen.begin());
}

std::string Where::text() const {
  std::vector<std::string> held;
  for (const Step& step : steps_) {
    if (step.op < Op::kAnd) {
      const std::string of = step.feature == kEach ? "" : fmt::format("[..., {}]", step.feature);
      held.push_back(fmt::format("{}{} {} {}", field_, of, kOperators[static_cast<std::size_t>(step.op)], step.number));
      continue;
    }
    const std::string right = std::move(held.back());
    held.pop_back();
    held.back() = fmt::format("({} {} {})", held.back(), step.op == Op::kAnd ? "and" : "or", right);
  }
  return held.front();
}

}  // namespace headrace
