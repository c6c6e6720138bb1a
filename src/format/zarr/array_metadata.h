// ArrayMetadata: what the metadata of a Zarr array says, of either version. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"
#include "format/npy/npy_type.h"
#include "format/zarr/chunk_keys.h"
#include "format/zarr/json.h"

namespace headrace::zarr {

/// The stage of the error of an array whose elements are of a known kind, and no numbers.
inline constexpr const char* kTypeStage = "type";

/// How chunks lie in shards: files of several chunks with an index.
struct ShardForm {
  std::vector<std::uint64_t> per_shard;  ///< Chunks of a shard along each axis.
  /// Axes in the order in which the index numbers the chunks, the slowest first; empty: as they are.
  std::vector<std::size_t> order;
  bool index_at_start = false, index_has_crc = false, index_is_big_endian = false;
};

struct ArrayMetadata {
  std::uint32_t version = 2;               ///< Version of Zarr, 2 or 3.
  std::vector<std::uint64_t> shape;        ///< Empty: a single number.
  std::vector<std::uint64_t> chunk_shape;  ///< What is decoded at once: inside a shard, the inner chunks.
  std::optional<ShardForm> shards;         ///< Nullopt: each chunk is a file.
  npy::NpyType type;                       ///< What an element is, as it is stored.
  /// An element of what was never written, in native byte order; zeros follow up to its size, which may be anything.
  std::vector<std::byte> fill;
  std::vector<FilterSpec> filters;  ///< In the order they were applied when writing.
  /// Axes in the order in which a chunk's elements are stored, the slowest first; empty: C order.
  std::vector<std::size_t> order;
  ChunkKeys keys;
  std::vector<std::string> dimension_names;  ///< Empty where none are given.
  Json attributes;                           ///< An object; in v2 they lie in a file of their own.

  /// Return the file that a chunk lies in, along each axis, and its number in that file's index; 0 without shards.
  struct ChunkPlace {
    std::vector<std::uint64_t> file;
    std::uint64_t in_file = 0;
  };
  [[nodiscard]] ChunkPlace place_of(std::vector<std::uint64_t> chunk) const;
  /// Return the chunks that a file holds.
  [[nodiscard]] std::uint64_t chunks_in_file() const;
};

/// Describe the array of a ".zarray" document.
/// Errors: kCorruptData  it contradicts itself or the format; kUnsupported  something of it cannot be read, by name.
Result<ArrayMetadata> parse_v2_array(const Json& document);

/// Refuse what a "zarr.json" document has, of an array or a group, that is not known and must be understood; the
/// specification has writers say so. Errors: kUnsupported, with its name.
Status check_extensions(const Json& document);

/// Describe the array of a "zarr.json" document whose node_type is "array". Errors: as parse_v2_array().
Result<ArrayMetadata> parse_v3_array(const Json& document);

// The parts that both have in common.

/// Set the type and what follows from it. \param document  What holds the fill value.
Status set_type(std::string_view type_text, const Json& members, ArrayMetadata& made);

/// Set shape and chunk shape, and check that the chunks can be numbered and held.
Status set_shapes(const Json& shape, const Json& chunks, ArrayMetadata& made);

/// Return the first bytes of a fill value, in native order; the rest of the element is zeros. \param value  null:
/// zeros.
Result<std::vector<std::byte>> fill_of(const Json& value, const npy::NpyType& type);

/// Map a codec of numcodecs or of Zarr v3 onto ours. \param settings  Where level and the like are found.
/// Errors: kUnsupported  there is no decoder, named.
Result<FilterSpec> filter_of(const std::string& name, const Json& settings, const npy::NpyType& type);

}  // namespace headrace::zarr
