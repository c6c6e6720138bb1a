// Forms of members that only data sets have: choices of fields, rows, names with something more.
#pragma once

#include <headrace/dataset.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catalog/row_set.h"
#include "spec/value_codecs.h"

namespace headrace {

/// Fields: {name: path, …}, or a list of paths that are names too.
template <>
struct ValueCodec<std::vector<FieldChoice>> {
  static std::string words(const Bounds&) { return "a map of names and paths, or a list of paths"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::vector<FieldChoice>& to);
  static Value write(const std::vector<FieldChoice>& from);
  static void pack(PackedWriter& out, const std::vector<FieldChoice>& from);
  static void unpack(PackedReader& in, const Bounds& bounds, std::vector<FieldChoice>& to);
};

/// The same; or {name: [path, axes]}.
template <>
struct ValueCodec<std::vector<BroadcastChoice>> {
  static std::string words(const Bounds&) { return "a map of names and paths, each a path or [path, axes]"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::vector<BroadcastChoice>& to);
  static Value write(const std::vector<BroadcastChoice>& from);
  static void pack(PackedWriter& out, const std::vector<BroadcastChoice>& from);
  static void unpack(PackedReader& in, const Bounds& bounds, std::vector<BroadcastChoice>& to);
};

/// Chosen samples: a list of ascending numbers, and of runs "first:end" and "first:end:step".
template <>
struct ValueCodec<std::shared_ptr<const RowSet>> {
  static std::string words(const Bounds&) {
    return "a list of ascending sample numbers, or of runs \"first:end\" and \"first:end:step\"";
  }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::shared_ptr<const RowSet>& to);
  static Value write(const std::shared_ptr<const RowSet>& from);
  static void pack(PackedWriter& out, const std::shared_ptr<const RowSet>& from);
  static void unpack(PackedReader& in, const Bounds& bounds, std::shared_ptr<const RowSet>& to);
};

/// SplitOptions::by.
struct AsSplitBy {};
template <>
struct ValueCodec<std::string, AsSplitBy> : ValueCodec<std::string> {
  static constexpr std::string_view python = "str | int";
  static std::string words(const Bounds&) { return "row, file, run, a field, or the number of an axis"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::string& to);
};

/// Ascending numbers as a list or an array; in recipes each is told by the difference to the one before.
struct Ascending {};
template <>
struct ValueCodec<std::vector<std::uint64_t>, Ascending> {
  static std::string words(const Bounds&) { return "a list of ascending whole numbers"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::vector<std::uint64_t>& to);
  static Value write(const std::vector<std::uint64_t>& from);
  static void pack(PackedWriter& out, const std::vector<std::uint64_t>& from);
  static void unpack(PackedReader& in, const Bounds& bounds, std::vector<std::uint64_t>& to);
};

/// Form of a list of structs that are told apart by a text: a map of that text and of the struct's other members.
template <auto Key>
struct ByKey {};
template <class S, auto Key>
struct ValueCodec<std::vector<S>, ByKey<Key>> {
  static std::string words(const Bounds&) { return fmt::format("a map of names, each with {}", spec<S>().name()); }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::vector<S>& to) {
    to.clear();
    const ValueMap* const map = value.map();
    if (!map) return unexpected(value, at, words(bounds));
    if (map->empty()) return refused(value, at, "the map is empty");
    HEADRACE_TRY(check_twice(*map, at));
    for (const ValueEntry& entry : *map) {
      const At here{&at, entry.key};
      HEADRACE_TRY(spec<S>().read(entry.value, here, &to.emplace_back()));
      to.back().*Key = entry.key;
    }
    return {};
  }
  static Value write(const std::vector<S>& from) {
    ValueMap map;
    for (const S& one : from) map.push_back({one.*Key, spec<S>().write(&one), 0});
    return {std::move(map)};
  }
  static void pack(PackedWriter& out, const std::vector<S>& from) {
    out.number(from.size());
    for (const S& one : from) out.text(one.*Key), spec<S>().pack(out, &one);
  }
  static void unpack(PackedReader& in, const Bounds&, std::vector<S>& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      std::string key(in.text());
      spec<S>().unpack(in, &to.emplace_back());
      to.back().*Key = std::move(key);
    }
  }
};

/// Call a function with each name of a list of names, a map of names and something more, or a list of both.
/// Errors: kInvalidArgument: those of the function; it is none of these.
Status for_each_named(const Value& value, const At& at, std::string_view expected,
                      const std::function<Status(const std::string& name, const Value* more, const At& here)>& take);

}  // namespace headrace
