#include "loader/options/option_forms.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "loader/options/words.h"
#include "spec/path_forms.h"

namespace headrace {
namespace {

/// What a text that is a value of its own says where it cannot be read.
Error with_place(const Value& value, const At& at, const Error& error) {
  return refused(value, at, error.message(), error.hint());
}

/// "64x4"; nullopt: it is no shape.
std::optional<ShuffleShape> shape_of(const std::string& text) {
  ShuffleShape shape;
  const char* const end = text.data() + text.size();
  const auto streams = std::from_chars(text.data(), end, shape.streams);
  if (streams.ec != std::errc() || streams.ptr == end || *streams.ptr != 'x') return std::nullopt;
  const auto blocks = std::from_chars(streams.ptr + 1, end, shape.pool_blocks);
  if (blocks.ec != std::errc() || blocks.ptr != end) shape = {};
  return shape;
}

}  // namespace

Status ValueCodec<std::uint64_t, AsBytes>::read(const Value& value, const At& at, const Bounds& bounds,
                                                std::uint64_t& to) {
  const Value meant = resolved(value);
  if (const std::string* const text = meant.text()) {
    if (text->find('\0') != std::string::npos) return unexpected(value, at, words(bounds));
    try {
      to = parse_bytes(*text);
    } catch (const Error& error) {
      return with_place(value, at, error);
    }
    return to > 0 ? Status() : Status(unexpected(value, at, "more than 0 bytes"));
  }
  const auto* const number = std::get_if<WholeNumber>(&meant.is);
  const std::optional<std::uint64_t> bytes = number ? number->as<std::uint64_t>() : std::nullopt;
  if (!bytes || *bytes == 0) return unexpected(value, at, number ? "more than 0 bytes" : words(bounds));
  to = *bytes;
  return {};
}

Value ValueCodec<std::uint64_t, AsBytes>::write(std::uint64_t from) {
  if (from == 0) return {};
  for (const auto& [unit, shift] : {std::pair{"GiB", 30}, {"MiB", 20}})
    if (from % (std::uint64_t{1} << shift) == 0) return {fmt::format("{}{}", from >> shift, unit)};
  return {WholeNumber(from)};
}

Status ValueCodec<std::uint32_t, AsAutoOr>::read(const Value& value, const At& at, const Bounds& bounds,
                                                 std::uint32_t& to) {
  const std::string* const text = value.text();
  if (text && *text == "auto") {
    to = 0;
    return {};
  }
  const Result<std::uint64_t> number = read_whole(value, at, bounds);
  if (!number.ok()) return unexpected(value, at, words(bounds));
  to = static_cast<std::uint32_t>(*number);
  return {};
}

Status ValueCodec<std::chrono::nanoseconds>::read(const Value& value, const At& at, const Bounds& bounds,
                                                  std::chrono::nanoseconds& to) {
  constexpr double kMostSeconds = 1e9;
  double seconds = 0;
  const bool is_number = ValueCodec<double>::read(value, at, {}, seconds).ok();
  if (!is_number || !(seconds >= 0) || seconds > kMostSeconds) return unexpected(value, at, words(bounds));
  // To the nearest, so that what is written of it is the same again; and to 0 only what is.
  to = std::chrono::nanoseconds(std::max<std::int64_t>(std::llround(seconds * 1e9), seconds > 0 ? 1 : 0));
  return {};
}

Value ValueCodec<std::chrono::nanoseconds>::write(std::chrono::nanoseconds from) {
  return from.count() > 0 ? Value{std::chrono::duration<double>(from).count()} : Value{};
}

Status ValueCodec<ShuffleWord>::read(const Value& value, const At& at, const Bounds& bounds, ShuffleWord& to) {
  const Value meant = resolved(value);
  if (const bool* const on = std::get_if<bool>(&meant.is))
    return to = *on ? ShuffleWord::kBlock : ShuffleWord::kNone, Status();
  HEADRACE_ASSIGN(const std::size_t place, read_word(value, at, all_words(words_of(ShuffleWord::kNone))));
  if (kShuffleWords[place].word == "true" || kShuffleWords[place].word == "false")  // in quotes
    return unexpected(value, at, words(bounds));
  to = kShuffleWords[place].value;
  return {};
}

Value ValueCodec<ShuffleWord>::write(ShuffleWord from) {
  return from == ShuffleWord::kExact ? Value{std::string(word_of(from))} : Value{from == ShuffleWord::kBlock};
}

Status ValueCodec<ShuffleShape>::read(const Value& value, const At& at, const Bounds& bounds, ShuffleShape& to) {
  ShuffleShape made;
  const auto shape = value.text() ? shape_of(*value.text()) : std::nullopt;
  if (shape) {
    if (shape->streams == 0 || shape->pool_blocks == 0)
      return unexpected(value, at, "a shape such as 64x4 (streams x blocks of each pool)");
    made = *shape;
  } else {
    HEADRACE_TRY((ValueCodec<std::uint64_t, AsBytes>::read(value, at, bounds, made.bytes)));
  }
  to = made;
  return {};
}

Value ValueCodec<ShuffleShape>::write(const ShuffleShape& from) {
  if (from.bytes > 0) return ValueCodec<std::uint64_t, AsBytes>::write(from.bytes);
  return from.streams > 0 ? Value{fmt::format("{}x{}", from.streams, from.pool_blocks)} : Value{};
}

void ValueCodec<ShuffleShape>::pack(PackedWriter& out, const ShuffleShape& from) {
  for (const std::uint64_t number : {std::uint64_t{from.streams}, std::uint64_t{from.pool_blocks}, from.bytes})
    out.number(number);
}

void ValueCodec<ShuffleShape>::unpack(PackedReader& in, const Bounds&, ShuffleShape& to) {
  ValueCodec<std::uint32_t>::unpack(in, {}, to.streams);
  ValueCodec<std::uint32_t>::unpack(in, {}, to.pool_blocks);
  to.bytes = in.number();
}

Status ValueCodec<CacheChoice>::read(const Value& value, const At& at, const Bounds& bounds, CacheChoice& to) {
  const std::string* const text = value.text();
  if (!text || text->empty() || text->find('\0') != std::string::npos) return unexpected(value, at, words(bounds));
  try {
    to = CacheChoice::parse(text->find('/') == std::string::npos ? *text : beside(at.read_context().run_file, *text));
  } catch (const Error& error) {
    return with_place(value, at, error);
  }
  return {};
}

Value ValueCodec<CacheChoice>::write(const CacheChoice& from) {
  return {from.mode == CacheChoice::kDirectory ? absolute_path(from.directory) : std::string(word_of(from.mode))};
}

void ValueCodec<CacheChoice>::pack(PackedWriter& out, const CacheChoice& from) {
  out.number(from.mode);
  out.text(from.directory);
}

void ValueCodec<CacheChoice>::unpack(PackedReader& in, const Bounds&, CacheChoice& to) {
  to.mode = static_cast<CacheChoice::Mode>(in.number_up_to(CacheChoice::kDirectory));
  to.directory = in.text();
}

Status ValueCodec<Share>::read(const Value& value, const At& at, const Bounds&, Share& to) {
  to = Share::kNothing;
  if (value.is_none()) return {};
  HEADRACE_TRY(read_word(value, at, {"host"}));
  to = Share::kHost;
  return {};
}

Status ValueCodec<ByTokens, AsBudget>::read(const Value& value, const At& at, const Bounds& bounds, ByTokens& to) {
  const std::string* const text = value.text();
  if (!text) return value.map() ? spec<ByTokens>().read(value, at, &to) : Status(unexpected(value, at, words(bounds)));
  ValueMap map;
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find(',', begin), text->size());
    const std::size_t equals = std::min(text->find('=', begin), end);
    if (equals == end || equals == begin) return unexpected(value, at, words(bounds));
    map.push_back({text->substr(begin, equals - begin), {text->substr(equals + 1, end - equals - 1), true}, 0});
    begin = end + 1;
  }
  return spec<ByTokens>().read({std::move(map), false, value.line}, at, &to);
}

Status ValueCodec<std::string, AsDevice>::read(const Value& value, const At& at, const Bounds& bounds,
                                               std::string& to) {
  const std::string* const text = value.text();
  if (!text) return unexpected(value, at, words(bounds));
  const std::size_t colon = std::min(text->find(':'), text->size());
  const bool is_name = colon > 0 && text->find_first_not_of("abcdefghijklmnopqrstuvwxyz") >= colon;
  const bool is_number =
      colon == text->size() ||
      (colon + 1 < text->size() && text->find_first_not_of("0123456789", colon + 1) == std::string::npos);
  if (!is_name || !is_number) return unexpected(value, at, words(bounds));
  to = *text;
  return {};
}

Status ValueCodec<std::string, AsName>::read(const Value& value, const At& at, const Bounds& bounds, std::string& to) {
  const auto* const number = std::get_if<WholeNumber>(&value.is);
  if (number && *number >= WholeNumber(0)) return to = number->text(), Status();
  if (!value.text() || value.text()->empty()) return unexpected(value, at, words(bounds));
  to = *value.text();
  return {};
}

Status ValueCodec<GivenInCode>::read(const Value& value, const At& at, const Bounds&, GivenInCode&) {
  return refused(value, at, "not in a run file: it is given in code");
}

}  // namespace headrace
