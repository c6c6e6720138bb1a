#include "format/zarr/array_metadata.h"

#include <fmt/format.h>

#include <limits>

#include "format/chunk_grid.h"

namespace headrace::zarr {
namespace {

constexpr std::size_t kMostRank = 32;                              // as NumPy has it
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 40;  // nothing that is decoded at once comes near it

npy::Literal literal_of(const Json& value);

/// A member of a record: [name, type] or [name, type, shape].
npy::Literal literal_of_list(const Json& list, npy::Literal::Kind kind) {
  npy::Literal out;
  out.kind = kind;
  for (const Json& entry : list)
    out.items.push_back(entry.is_array() && kind == npy::Literal::Kind::kList
                            ? literal_of_list(entry, npy::Literal::Kind::kTuple)
                            : literal_of(entry));
  return out;
}

npy::Literal literal_of(const Json& value) {
  npy::Literal out;
  if (value.is_string()) {
    out.kind = npy::Literal::Kind::kText;
    out.text = value.get<std::string>();
  } else if (value.is_number_unsigned()) {
    out.kind = npy::Literal::Kind::kNumber;
    out.number = value.get<std::uint64_t>();
  } else if (value.is_array()) {
    // The type of a member is a list of members again, its shape is a list of numbers.
    const bool shape = !value.empty() && value[0].is_number();
    out = literal_of_list(value, shape ? npy::Literal::Kind::kTuple : npy::Literal::Kind::kList);
  }
  return out;
}

}  // namespace

ArrayMetadata::ChunkPlace ArrayMetadata::place_of(std::vector<std::uint64_t> chunk) const {
  if (!shards) return {std::move(chunk), 0};
  std::vector<std::uint64_t> inside(chunk.size());
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    inside[d] = chunk[d] % shards->per_shard[d];
    chunk[d] /= shards->per_shard[d];
  }
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const std::size_t axis = shards->order.empty() ? i : shards->order[i];
    number = number * shards->per_shard[axis] + inside[axis];
  }
  return {std::move(chunk), number};
}

std::uint64_t ArrayMetadata::chunks_in_file() const {
  std::uint64_t chunks = 1;
  if (shards)
    for (const std::uint64_t n : shards->per_shard) chunks *= n;
  return chunks;
}

Status set_type(std::string_view type_text, const Json& members, ArrayMetadata& made) {
  npy::Literal descr;
  if (!type_text.empty()) {
    descr.kind = npy::Literal::Kind::kText;
    descr.text = type_text;
  } else {
    descr = literal_of(members);
  }
  HEADRACE_ASSIGN(made.type, npy::parse_type(descr));
  if (!made.type.refusal.empty())
    return Error(ErrorCode::kUnsupported, made.type.refusal)
        .with_stage(made.type.no_numbers ? kTypeStage : "")
        .with_hint("Save the array in another type.");
  return {};
}

Status set_shapes(const Json& shape, const Json& chunks, ArrayMetadata& made) {
  const auto extents = numbers_of(shape), chunk = numbers_of(chunks);
  if (!extents) return Error(ErrorCode::kCorruptData, fmt::format("the shape is {}", shown(shape)));
  if (!chunk || chunk->size() != extents->size())
    return Error(ErrorCode::kCorruptData,
                 fmt::format("chunks of {} of an array of shape {}", shown(chunks), shown(shape)));
  if (extents->size() > kMostRank)
    return Error(ErrorCode::kUnsupported, fmt::format("{} axes, {} are the most", extents->size(), kMostRank));
  made.shape = *extents;
  made.chunk_shape = *chunk;
  std::uint64_t bytes = made.type.record_bytes, all = 1;
  for (std::size_t d = 0; d < chunk->size(); ++d) {
    if (made.chunk_shape[d] == 0 && made.shape[d] == 0) made.chunk_shape[d] = 1;
    if (made.chunk_shape[d] == 0 || __builtin_mul_overflow(bytes, made.chunk_shape[d], &bytes) ||
        bytes > kMostChunkBytes)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("chunks of {} elements of {} bytes", shown(chunks), made.type.record_bytes));
    if (made.shape[d] > 0 && __builtin_mul_overflow(all, made.shape[d], &all))
      return Error(ErrorCode::kCorruptData, fmt::format("an array of shape {}", shown(shape)));
  }
  if (!ChunkGrid::can_number(made.shape, made.chunk_shape))
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("chunks of {} of an array of shape {} are too many to be numbered", shown(chunks), shown(shape)));
  return {};
}

}  // namespace headrace::zarr
