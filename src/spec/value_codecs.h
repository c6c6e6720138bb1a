// Codecs of truths, numbers, texts, words, optional members, lists, maps and structs that have a Spec.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/words.h"
#include "spec/spec.h"

namespace headrace {

/// A struct whose members are listed.
template <class S>
concept Described = requires(const S* s) {
  { spec_of(s) } -> std::same_as<const Spec&>;
};

template <Described S>
const Spec& spec() {
  return spec_of(static_cast<const S*>(nullptr));
}

template <>
struct ValueCodec<bool> {
  static constexpr std::string_view python = "bool";
  static std::string words(const Bounds&) { return "true or false"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, bool& to);
  static Value write(bool from) { return {from}; }
  static void pack(PackedWriter& out, bool from) { out.flag(from); }
  static void unpack(PackedReader& in, const Bounds&, bool& to) { to = in.flag(); }
};

/// Return "a whole number from 1 to 4096".
std::string whole_number_words(const Bounds& bounds);
/// Read a whole number within bounds. Errors: kInvalidArgument.
Result<std::uint64_t> read_whole(const Value& value, const At& at, const Bounds& bounds);

template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) struct ValueCodec<T> {
  static constexpr std::string_view python = "int";
  static Bounds within(const Bounds& bounds) {
    return {bounds.least, std::min<std::uint64_t>(bounds.most, std::numeric_limits<T>::max())};
  }
  static std::string words(const Bounds& bounds) { return whole_number_words(bounds); }
  static Status read(const Value& value, const At& at, const Bounds& bounds, T& to) {
    HEADRACE_ASSIGN(const std::uint64_t number, read_whole(value, at, bounds));
    if (number > within(bounds).most) return unexpected(value, at, whole_number_words(within(bounds)));
    to = static_cast<T>(number);
    return {};
  }
  static Value write(T from) { return {WholeNumber(from)}; }
  static void pack(PackedWriter& out, T from) { out.number(from); }
  static void unpack(PackedReader& in, const Bounds& bounds, T& to) {
    to = static_cast<T>(in.number_up_to(within(bounds).most));
  }
};

template <>
struct ValueCodec<WholeNumber> {
  static constexpr std::string_view python = "int";
  static std::string words(const Bounds&) { return "a whole number from -2^63 to 2^64 - 1"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, WholeNumber& to);
  static Value write(const WholeNumber& from) { return {from}; }
  static void pack(PackedWriter& out, const WholeNumber& from);
  static void unpack(PackedReader& in, const Bounds& bounds, WholeNumber& to);
};

template <>
struct ValueCodec<double> {
  static constexpr std::string_view python = "float";
  static std::string words(const Bounds&) { return "a number"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, double& to);
  static Value write(double from) { return {from}; }
  static void pack(PackedWriter& out, double from) { out.number(std::bit_cast<std::uint64_t>(from)); }
  static void unpack(PackedReader& in, const Bounds&, double& to) { to = std::bit_cast<double>(in.number()); }
};

template <>
struct ValueCodec<std::string> {
  static constexpr std::string_view python = "str";
  static std::string words(const Bounds&) { return "a text"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::string& to);
  static Value write(const std::string& from) { return from.empty() ? Value{} : Value{from}; }
  static void pack(PackedWriter& out, const std::string& from) { out.text(from); }
  static void unpack(PackedReader& in, const Bounds&, std::string& to) { to = in.text(); }
};

/// Read one of some words; the error names the nearest. \return Its place among them.
Result<std::size_t> read_word(const Value& value, const At& at, const std::vector<std::string>& words);

template <Worded E>
struct ValueCodec<E> {
  static constexpr std::string_view python = "str";
  static std::string words(const Bounds&) { return one_of_words(all_words(words_of(E{}))); }
  static Status read(const Value& value, const At& at, const Bounds&, E& to) {
    HEADRACE_ASSIGN(const std::size_t place, read_word(value, at, all_words(words_of(E{}))));
    to = words_of(E{})[place].value;
    return {};
  }
  static Value write(E from) { return {std::string(word_of(from))}; }
  static void pack(PackedWriter& out, E from) {
    std::size_t place = 0;
    while (words_of(E{})[place].value != from) ++place;
    out.number(place);
  }
  static void unpack(PackedReader& in, const Bounds&, E& to) {
    to = words_of(E{})[in.number_up_to(words_of(E{}).size() - 1)].value;
  }
};

template <class T, class Form>
struct ValueCodec<std::optional<T>, Form> {
  static constexpr std::string_view python = python_type<ValueCodec<T, Form>>();
  using Inner = ValueCodec<T, Form>;
  static std::string words(const Bounds& bounds) { return Inner::words(bounds); }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::optional<T>& to) {
    to.reset();
    return value.is_none() ? Status() : Inner::read(value, at, bounds, to.emplace(T{}));  // T{}: nested structs, clang
  }
  static Value write(const std::optional<T>& from) { return from ? Inner::write(*from) : Value{}; }
  static void pack(PackedWriter& out, const std::optional<T>& from) {
    out.flag(from.has_value());
    if (from) Inner::pack(out, *from);
  }
  static void unpack(PackedReader& in, const Bounds& bounds, std::optional<T>& to) {
    to.reset();
    if (in.flag()) Inner::unpack(in, bounds, to.emplace(T{}));
  }
};

/// Form of a list: one item may stand for a list of it. Form of the items.
template <class Item = Plain>
struct OneOrMany {};

/// What lists have in common. Nothing, and no list, is an empty one.
template <class T, class Item, bool kOne>
struct ListCodec {
  using Inner = ValueCodec<T, Item>;
  static std::string words(const Bounds& bounds) {
    return kOne ? Inner::words(bounds) + ", or a list of them" : "a list, each " + Inner::words(bounds);
  }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::vector<T>& to) {
    to.clear();
    if (value.is_none()) return {};
    const ValueList* const list = value.list();
    if (!list && kOne) return Inner::read(value, at, bounds, to.emplace_back());
    if (!list) return unexpected(value, at, words(bounds));
    if (list->empty()) return refused(value, at, "the list is empty");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const At here{&at, fmt::format("[{}]", i)};
      HEADRACE_TRY(Inner::read((*list)[i], here, bounds, to.emplace_back()));
    }
    return {};
  }
  static Value write(const std::vector<T>& from) {
    if (from.empty()) return {};
    if (kOne && from.size() == 1) return Inner::write(from[0]);
    ValueList list;
    for (const T& one : from) list.push_back(Inner::write(one));
    return {std::move(list)};
  }
  static void pack(PackedWriter& out, const std::vector<T>& from) {
    out.number(from.size());
    for (const T& one : from) Inner::pack(out, one);
  }
  static void unpack(PackedReader& in, const Bounds& bounds, std::vector<T>& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) Inner::unpack(in, bounds, to.emplace_back());
  }
};
template <class T>
struct ValueCodec<std::vector<T>> : ListCodec<T, Plain, false> {};
template <class T, class Item>
struct ValueCodec<std::vector<T>, OneOrMany<Item>> : ListCodec<T, Item, true> {};

/// Form of a map: that of its values.
template <class Item>
struct MapOf {};

template <class T, class Item>
struct ValueCodec<std::map<std::string, T>, MapOf<Item>> {
  using Inner = ValueCodec<T, Item>;
  static std::string words(const Bounds& bounds) { return "a map, each value " + Inner::words(bounds); }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::map<std::string, T>& to) {
    to.clear();
    if (value.is_none()) return {};
    const ValueMap* const map = value.map();
    if (!map) return unexpected(value, at, words(bounds));
    HEADRACE_TRY(check_twice(*map, at));
    for (const ValueEntry& entry : *map) {
      const At here{&at, entry.key};
      HEADRACE_TRY(Inner::read(entry.value, here, bounds, to[entry.key]));
    }
    return {};
  }
  static Value write(const std::map<std::string, T>& from) {
    ValueMap map;
    for (const auto& [key, value] : from) map.push_back({key, Inner::write(value), 0});
    return map.empty() ? Value{} : Value{std::move(map)};
  }
  static void pack(PackedWriter& out, const std::map<std::string, T>& from) {
    out.number(from.size());
    for (const auto& [key, value] : from) out.text(key), Inner::pack(out, value);
  }
  static void unpack(PackedReader& in, const Bounds& bounds, std::map<std::string, T>& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      const std::string key(in.text());
      Inner::unpack(in, bounds, to[key]);
    }
  }
};

template <class T>
struct ValueCodec<std::map<std::string, T>> : ValueCodec<std::map<std::string, T>, MapOf<Plain>> {};

template <Described S>
struct ValueCodec<S> {
  static std::string words(const Bounds&) { return fmt::format("{} (a map)", spec<S>().name()); }
  static Status read(const Value& value, const At& at, const Bounds&, S& to) { return spec<S>().read(value, at, &to); }
  static Value write(const S& from) { return spec<S>().write(&from); }
  static void pack(PackedWriter& out, const S& from) { spec<S>().pack(out, &from); }
  static void unpack(PackedReader& in, const Bounds&, S& to) { spec<S>().unpack(in, &to); }
};

/// Form of what a program tells: nothing is left out, also where it is 0 or empty; an optional that is empty is
/// nothing.
struct Shown {};

template <class T>
requires std::is_arithmetic_v<T>
struct ValueCodec<T, Shown> : ValueCodec<T> {
};

template <>
struct ValueCodec<std::string, Shown> : ValueCodec<std::string> {
  static Value write(const std::string& from) { return {from}; }
};

template <class T>
struct ValueCodec<std::vector<T>, Shown> : ListCodec<T, Shown, false> {
  static constexpr std::string_view python = std::same_as<T, std::string> ? "list[str]" : "Any";
  static Value write(const std::vector<T>& from) {
    ValueList list;
    for (const T& one : from) list.push_back(ValueCodec<T, Shown>::write(one));
    return {std::move(list)};
  }
};

template <Described S>
struct ValueCodec<S, Shown> : ValueCodec<S> {
  static Value write(const S& from) { return spec<S>().write_all(&from); }
};

}  // namespace headrace
