// How transforms are said: {Affine: {fields: [x], scale: 2}}, with the settings' names as docs/transforms.md lists
// them.
#pragma once

#include <headrace/transform.h>

#include <string_view>

#include "spec/value_codecs.h"

namespace headrace {

/// Name of the transform that shortens samples. It is none of the fields' values but of which rows a sample has, so
/// that these are not read (dataset/verbs/truncate.h).
inline constexpr std::string_view kTruncate = "Truncate";

template <>
struct ValueCodec<Setting> {
  static std::string words(const Bounds&) { return "a truth, a number, a text, or a list of numbers or texts"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, Setting& to);
  static Value write(const Setting& from);
  static void pack(PackedWriter& out, const Setting& from);
  static void unpack(PackedReader& in, const Bounds& bounds, Setting& to);
};

template <>
struct ValueCodec<Transform> {
  static std::string words(const Bounds&) { return "a transform with its settings, such as {Log: {field: x}}"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, Transform& to);
  static Value write(const Transform& from);
  static void pack(PackedWriter& out, const Transform& from);
  static void unpack(PackedReader& in, const Bounds& bounds, Transform& to);
};

}  // namespace headrace
