// The "zarr.json" document of an array of Zarr v3. Source: the Zarr core specification, version 3.1, and those of its
// codecs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "format/zarr/array_metadata.h"

namespace headrace::zarr {
namespace {

struct TypeName {
  std::string_view name, letters;
};
constexpr auto kTypes = std::to_array<TypeName>({
    {"bool", "b1"},
    {"int8", "i1"},
    {"int16", "i2"},
    {"int32", "i4"},
    {"int64", "i8"},
    {"uint8", "u1"},
    {"uint16", "u2"},
    {"uint32", "u4"},
    {"uint64", "u8"},
    {"float16", "f2"},
    {"float32", "f4"},
    {"float64", "f8"},
    {"complex64", "c8"},
    {"complex128", "c16"},
});

/// Types of texts, bytes and times, in the core and its extensions.
constexpr auto kTexts =
    std::to_array<std::string_view>({"string", "vlen-utf8", "fixed_length_utf32", "bytes", "variable_length_bytes",
                                     "null_terminated_bytes", "raw_bytes", "numpy.datetime64", "numpy.timedelta64"});

Error not_read(std::string message, std::string_view hint = {}) {
  return Error(ErrorCode::kUnsupported, std::move(message)).with_hint(hint);
}

/// A codec, a chunk grid and the like: {"name": …, "configuration": {…}}, or the name alone.
struct Named {
  std::string name;
  const Json& settings;
};
Result<Named> named(const Json& value, const char* what) {
  static const Json none;
  if (value.is_string()) return Named{value.get<std::string>(), none};
  const auto name = text_of(value, "name");
  if (!name) return Error(ErrorCode::kCorruptData, fmt::format("{} without a name: {}", what, shown(value)));
  return Named{*name, member(value, "configuration")};
}

/// Axes as they lie after a transposition of what `axes` says.
Status transpose(const Json& settings, std::vector<std::size_t>& axes) {
  const Json& order = member(settings, "order");
  if (order == "C") return {};
  if (order == "F") {
    std::ranges::reverse(axes);
    return {};
  }
  const auto places = numbers_of(order);
  std::vector<std::size_t> out;
  std::vector<bool> seen(axes.size());
  for (const std::uint64_t place : places.value_or(std::vector<std::uint64_t>{})) {
    if (place >= axes.size() || seen[place]) break;
    seen[place] = true;
    out.push_back(axes[place]);
  }
  if (!places || out.size() != axes.size() || places->size() != axes.size())
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the transpose codec has the order {} for {} axes", shown(order), axes.size()));
  axes = std::move(out);
  return {};
}

/// Is the "bytes" codec's number order big-endian? \param needed  There are numbers of several bytes.
Result<bool> is_big_endian(const Json& settings, bool needed) {
  const Json& endian = member(settings, "endian");
  if ((endian.is_null() && !needed) || endian == "little") return false;
  if (endian == "big") return true;
  return Error(ErrorCode::kCorruptData, fmt::format("the endian of the bytes codec is {}", shown(endian)));
}

Status set_index_form(const Json& settings, ShardForm& shards) {
  const Json& location = member(settings, "index_location");
  if (!location.is_null() && location != "end" && location != "start")
    return Error(ErrorCode::kCorruptData, fmt::format("the index_location of shards is {}", shown(location)));
  shards.index_at_start = location == "start";
  const Json& codecs = member(settings, "index_codecs");
  if (!codecs.is_array() || codecs.empty())
    return Error(ErrorCode::kCorruptData, fmt::format("the index_codecs of shards are {}", shown(codecs)));
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    HEADRACE_ASSIGN(const Named codec, named(codecs[i], "a codec"));
    if (i == 0 && codec.name == "bytes") {
      HEADRACE_ASSIGN(shards.index_is_big_endian, is_big_endian(codec.settings, true));
    } else if (i == 1 && codec.name == "crc32c") {
      shards.index_has_crc = true;
    } else {
      return not_read(fmt::format(
          "the index of shards is encoded by '{}'; it is read as bytes, and a crc32c after them", codec.name));
    }
  }
  return {};
}

/// What lies inside a shard takes the place of what the array says: chunks, and their codecs.
Status enter_shards(const Json& settings, const std::vector<std::size_t>& axes, ArrayMetadata& made) {
  const auto inner = numbers_of(member(settings, "chunk_shape"));
  if (!inner || inner->size() != axes.size())
    return Error(ErrorCode::kCorruptData,
                 fmt::format("chunks of {} in a shard", shown(member(settings, "chunk_shape"))));
  made.shards.emplace();
  made.shards->per_shard.resize(axes.size());
  if (!std::ranges::is_sorted(axes)) made.shards->order = axes;
  Json chunks = Json::array();
  std::vector<std::uint64_t> chunk(axes.size());
  std::uint64_t together = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::uint64_t shard = made.chunk_shape[axes[i]];
    if ((*inner)[i] == 0 || shard % (*inner)[i] != 0)
      return Error(ErrorCode::kCorruptData, fmt::format("chunks of {} do not part a shard of {} elements",
                                                        shown(member(settings, "chunk_shape")), shard));
    chunk[axes[i]] = (*inner)[i];
    made.shards->per_shard[axes[i]] = shard / (*inner)[i];
    together *= shard / (*inner)[i];
  }
  constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 24;  // an index of 256 MiB
  if (together > kMostChunks)
    return not_read(fmt::format("a shard of {} chunks, {} are the most", together, kMostChunks));
  for (const std::uint64_t n : chunk) chunks.push_back(n);
  HEADRACE_TRY(set_shapes(Json(made.shape), chunks, made));
  return set_index_form(settings, *made.shards);
}

/// The type is known once its order of bytes is.
Status set_v3_type(const Json& document, bool big_endian, ArrayMetadata& made) {
  const Json& type = member(document, "data_type");
  HEADRACE_ASSIGN(const Named name, named(type, "a data type"));
  const auto known = std::ranges::find(kTypes, name.name, &TypeName::name);
  if (known == kTypes.end())
    return not_read(fmt::format("the data type '{}' is not read", name.name),
                    "It reads bool, whole numbers, float16 to float64 and complex ones.")
        .with_stage(std::ranges::count(kTexts, name.name) > 0 ? kTypeStage : "");
  return set_type(fmt::format("{}{}", big_endian ? '>' : '<', known->letters), {}, made);
}

std::uint32_t widest_number_bytes(const npy::NpyType& type) {
  std::uint32_t widest = 1;
  for (const Column& column : type.columns) widest = std::max(widest, column.dtype.itemsize);
  return widest;
}

/// Walk through the codecs in the order in which they were applied.
Status set_codecs(const Json& document, const Json& codecs, std::vector<std::size_t> axes, ArrayMetadata& made) {
  if (!codecs.is_array()) return Error(ErrorCode::kCorruptData, fmt::format("the codecs are {}", shown(codecs)));
  bool are_bytes = false;
  for (const Json& entry : codecs) {
    HEADRACE_ASSIGN(const Named codec, named(entry, "a codec"));
    if (codec.name == "transpose" && !are_bytes) {
      HEADRACE_TRY(transpose(codec.settings, axes));
    } else if (codec.name == "bytes" && !are_bytes) {
      HEADRACE_ASSIGN(const bool big_endian, is_big_endian(codec.settings, widest_number_bytes(made.type) > 1));
      HEADRACE_TRY(set_v3_type(document, big_endian, made));
      are_bytes = true;
    } else if (codec.name == "sharding_indexed" && !are_bytes) {
      if (made.shards) return not_read("shards inside shards are not read");
      if (&entry != &codecs.back()) return not_read("a shard that is encoded as a whole is not read");
      HEADRACE_TRY(enter_shards(codec.settings, axes, made));
      return set_codecs(document, member(codec.settings, "codecs"), std::move(axes), made);
    } else if (are_bytes) {
      HEADRACE_ASSIGN(FilterSpec filter, filter_of(codec.name, codec.settings, made.type));
      made.filters.push_back(std::move(filter));
    } else {
      return not_read(fmt::format("there is no decoder for the codec '{}', or not in this place", codec.name));
    }
  }
  if (!are_bytes) return Error(ErrorCode::kCorruptData, "no codec makes bytes of the elements");
  if (!std::ranges::is_sorted(axes)) made.order = std::move(axes);
  return {};
}

Status set_keys(const Json& document, ArrayMetadata& made) {
  HEADRACE_ASSIGN(const Named encoding, named(member(document, "chunk_key_encoding"), "a chunk_key_encoding"));
  if (encoding.name != "default" && encoding.name != "v2")
    return not_read(fmt::format("the chunk_key_encoding '{}' is not read", encoding.name));
  made.keys.has_prefix = encoding.name == "default";
  made.keys.separator = made.keys.has_prefix ? '/' : '.';
  const Json& separator = member(encoding.settings, "separator");
  if (separator.is_null()) return {};
  if (separator != "." && separator != "/")
    return Error(ErrorCode::kCorruptData, fmt::format("the separator of chunk names is {}", shown(separator)));
  made.keys.separator = separator == "/" ? '/' : '.';
  return {};
}

}  // namespace

Status check_extensions(const Json& document) {
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
       "attributes", "dimension_names", "storage_transformers", "consolidated_metadata"});
  HEADRACE_TRY(check_keys(document, kKnown));
  for (const auto& [key, value] : document.items()) {
    const Json& needed = member(value, "must_understand");
    if (std::ranges::find(kKnown, key) == kKnown.end() && needed != false)
      return not_read(fmt::format("an extension named '{}' is not read", key));
  }
  const Json& transformers = member(document, "storage_transformers");
  if (transformers.is_null() || transformers.empty()) return {};
  HEADRACE_ASSIGN(const Named first, named(transformers.is_array() ? transformers[0] : transformers, "a transformer"));
  return not_read(fmt::format("the storage transformer '{}' is not read", first.name));
}

Result<ArrayMetadata> parse_v3_array(const Json& document) {
  ArrayMetadata made;
  made.version = 3;
  HEADRACE_TRY(check_extensions(document));
  HEADRACE_ASSIGN(const Named grid, named(member(document, "chunk_grid"), "a chunk_grid"));
  if (grid.name != "regular") return not_read(fmt::format("the chunk grid '{}' is not read", grid.name));
  HEADRACE_TRY(set_v3_type(document, false, made));
  HEADRACE_TRY(set_shapes(member(document, "shape"), member(grid.settings, "chunk_shape"), made));
  std::vector<std::size_t> axes(made.shape.size());
  for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = d;
  HEADRACE_TRY(set_codecs(document, member(document, "codecs"), std::move(axes), made));
  HEADRACE_TRY(set_keys(document, made));
  const Json& fill = member(document, "fill_value");
  if (fill.is_null()) return Error(ErrorCode::kCorruptData, "the metadata has no 'fill_value'");
  HEADRACE_ASSIGN(made.fill, fill_of(fill, made.type));
  if (const Json& names = member(document, "dimension_names"); names.is_array() && names.size() == made.shape.size())
    for (const Json& name : names) made.dimension_names.push_back(name.is_string() ? name.get<std::string>() : "");
  made.attributes = member(document, "attributes");
  return made;
}

}  // namespace headrace::zarr
