// Forms of the options of loaders that are more than a number or a word.
#pragma once

#include <headrace/loader.h>

#include <chrono>
#include <string>

#include "loader/options/loader_settings.h"
#include "spec/value_codecs.h"

namespace headrace {

/// Bytes above 0: "8GiB", "8GB", or a number.
struct AsBytes {};
template <>
struct ValueCodec<std::uint64_t, AsBytes> : ValueCodec<std::uint64_t> {
  static constexpr std::string_view python = "int | str";
  static std::string words(const Bounds&) { return "a size in bytes, such as 8GiB or 8GB"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::uint64_t& to);
  static Value write(std::uint64_t from);
};

/// A whole number, or auto, which is 0.
struct AsAutoOr {};
template <>
struct ValueCodec<std::uint32_t, AsAutoOr> : ValueCodec<std::uint32_t> {
  static constexpr std::string_view python = "int | str";
  static std::string words(const Bounds& bounds) { return "auto, or " + whole_number_words(bounds); }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::uint32_t& to);
  static Value write(std::uint32_t from) { return from == 0 ? Value{"auto"} : Value{WholeNumber(from)}; }
};

/// A number of seconds; 0 is no limit.
template <>
struct ValueCodec<std::chrono::nanoseconds> {
  static constexpr std::string_view python = "float";
  static std::string words(const Bounds&) { return "a number of seconds (0: no limit)"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::chrono::nanoseconds& to);
  static Value write(std::chrono::nanoseconds from);
  static void pack(PackedWriter& out, std::chrono::nanoseconds from) { out.signed_number(from.count()); }
  static void unpack(PackedReader& in, const Bounds&, std::chrono::nanoseconds& to) {
    to = std::chrono::nanoseconds(in.signed_number());
  }
};

/// True, false, block or exact.
template <>
struct ValueCodec<ShuffleWord> {
  static constexpr std::string_view python = "bool | str";
  static std::string words(const Bounds&) { return "true, false, block or exact"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, ShuffleWord& to);
  static Value write(ShuffleWord from);
  static void pack(PackedWriter& out, ShuffleWord from) { out.number(static_cast<std::uint64_t>(from)); }
  static void unpack(PackedReader& in, const Bounds&, ShuffleWord& to) {
    to = static_cast<ShuffleWord>(in.number_up_to(static_cast<std::uint64_t>(ShuffleWord::kExact)));
  }
};

/// Bytes, or "64x4".
template <>
struct ValueCodec<ShuffleShape> {
  static constexpr std::string_view python = "int | str | ShuffleShape";
  static std::string words(const Bounds&) { return "bytes (1GiB), or a shape (64x4: streams x blocks of each pool)"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, ShuffleShape& to);
  static Value write(const ShuffleShape& from);
  static void pack(PackedWriter& out, const ShuffleShape& from);
  static void unpack(PackedReader& in, const Bounds& bounds, ShuffleShape& to);
};

/// Auto, none, ram, or a directory.
template <>
struct ValueCodec<CacheChoice> {
  static constexpr std::string_view python = "str | os.PathLike[str]";
  static std::string words(const Bounds&) { return "auto, none, ram or a directory"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, CacheChoice& to);
  static Value write(const CacheChoice& from);
  static void pack(PackedWriter& out, const CacheChoice& from);
  static void unpack(PackedReader& in, const Bounds& bounds, CacheChoice& to);
};

/// "host", or nothing.
template <>
struct ValueCodec<Share> {
  static constexpr std::string_view python = "str";
  static std::string words(const Bounds&) { return "host"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, Share& to);
  static Value write(Share from) { return from == Share::kHost ? Value{"host"} : Value{}; }
  static void pack(PackedWriter& out, Share from) { out.flag(from == Share::kHost); }
  static void unpack(PackedReader& in, const Bounds&, Share& to) { to = in.flag() ? Share::kHost : Share::kNothing; }
};

/// A budget of rows: {tokens: 64, lanes: 2}, or the same as text, "tokens=64,lanes=2".
struct AsBudget {};
template <>
struct ValueCodec<ByTokens, AsBudget> : ValueCodec<ByTokens> {
  static constexpr std::string_view python = "ByTokens";
  static std::string words(const Bounds&) {
    return "a budget such as ByTokens(32768), or tokens=32768,max_samples=512,too_long=alone";
  }
  static Status read(const Value& value, const At& at, const Bounds& bounds, ByTokens& to);
};

/// One of some words that the engine has no enum for. \tparam Words  An array of them.
template <const auto& Words>
struct AsWord {};
template <const auto& Words>
struct ValueCodec<std::string, AsWord<Words>> : ValueCodec<std::string> {
  static std::vector<std::string> all() { return {std::begin(Words), std::end(Words)}; }
  static std::string words(const Bounds&) { return one_of_words(all()); }
  static Status read(const Value& value, const At& at, const Bounds&, std::string& to) {
    HEADRACE_ASSIGN(const std::size_t place, read_word(value, at, all()));
    to = Words[place];
    return {};
  }
};

/// "cpu", "cuda", "cuda:1". Whether torch has it, torch says.
struct AsDevice {};
template <>
struct ValueCodec<std::string, AsDevice> : ValueCodec<std::string> {
  static constexpr std::string_view python = "Any";  // also torch.device, and what stands for one
  static std::string words(const Bounds&) { return "cpu, or a device of torch such as cuda or cuda:1"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::string& to);
};

/// A name; also the number of an axis.
struct AsName {};
template <>
struct ValueCodec<std::string, AsName> : ValueCodec<std::string> {
  static constexpr std::string_view python = "str | int";
  static std::string words(const Bounds&) {
    return "file, a field with one whole number a row, or the number of an axis";
  }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::string& to);
};

template <>
struct ValueCodec<GivenInCode> {
  static std::string words(const Bounds&) { return "an object of the program"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, GivenInCode& to);
  static Value write(const GivenInCode&) { return {}; }
  static void pack(PackedWriter&, const GivenInCode&) {}
  static void unpack(PackedReader&, const Bounds&, GivenInCode&) {}
};

}  // namespace headrace
