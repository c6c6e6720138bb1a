// check_ids(): tokens against their vocabulary.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "format/tokens/token_file.h"
#include "format/tokens/token_type.h"

namespace headrace::token_files {
namespace {

constexpr std::uint64_t kStepBytes = 1 << 20;
constexpr std::size_t kNone = ~std::size_t{0};

/// Return the place of the first id that is not in [0, limit); kNone: all are.
template <class Id>
std::size_t first_outside(std::span<const std::byte> bytes, std::uint64_t limit) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t count = bytes.size() / sizeof(Id);
  Id ids[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t here = std::min(kBlock, count - at);
    std::memcpy(ids, bytes.data() + at * sizeof(Id), here * sizeof(Id));
    // A negative id becomes larger than any limit, in a type of the same width.
    using Unsigned = std::make_unsigned_t<Id>;
    Unsigned largest = 0;
    for (std::size_t i = 0; i < here; ++i) largest = std::max(largest, static_cast<Unsigned>(ids[i]));
    if (static_cast<std::uint64_t>(largest) < limit) continue;
    for (std::size_t i = 0; i < here; ++i)
      if (static_cast<std::uint64_t>(static_cast<Unsigned>(ids[i])) >= limit) return at + i;
  }
  return kNone;
}

struct Found {
  std::size_t at = kNone;
  std::int64_t id = 0;
};

template <class Id>
Found find_outside(std::span<const std::byte> bytes, std::uint64_t limit) {
  Found found{first_outside<Id>(bytes, limit)};
  if (found.at == kNone) return found;
  Id id;
  std::memcpy(&id, bytes.data() + found.at * sizeof(Id), sizeof(Id));
  found.id = static_cast<std::int64_t>(id);  // NOLINT(bugprone-signed-char-misuse): a number, not a letter
  return found;
}

Found find_outside(const DType& type, std::span<const std::byte> bytes, std::uint64_t limit) {
  const bool is_signed = type.kind == DType::Kind::kInt;
  switch (type.itemsize) {
    case 1:
      return is_signed ? find_outside<std::int8_t>(bytes, limit) : find_outside<std::uint8_t>(bytes, limit);
    case 2:
      return is_signed ? find_outside<std::int16_t>(bytes, limit) : find_outside<std::uint16_t>(bytes, limit);
    case 4:
      return is_signed ? find_outside<std::int32_t>(bytes, limit) : find_outside<std::uint32_t>(bytes, limit);
    default:
      return is_signed ? find_outside<std::int64_t>(bytes, limit) : find_outside<std::uint64_t>(bytes, limit);
  }
}

Error id_outside(const TokenFile& file, std::uint64_t token, std::int64_t id) {
  const std::uint64_t width = file.dtype.itemsize;
  std::string what = fmt::format("token {} is {}, ", token, id);
  what += file.vocab_size > 0 ? fmt::format("and ids end at {}, the vocabulary's last", file.vocab_size - 1)
                              : std::string("and ids are 0 or more");
  return Error(ErrorCode::kCorruptData, std::move(what))
      .with_file(file.path)
      .with_bytes({file.values.offset + token * width, width})
      .with_stage("ids")
      .with_hint(fmt::format("Another dtype than {}, or another tokenizer's vocabulary?", file.dtype.name()));
}

}  // namespace

Status check_ids(const TokenFile& file, RowRange rows, const std::function<bool()>& go_on) {
  const std::uint64_t limit = file.vocab_size > 0 ? file.vocab_size : largest_of(file.dtype) + 1;
  if (limit == 0 || (file.vocab_size == 0 && file.dtype.kind == DType::Kind::kUInt)) return {};  // any number will do
  const std::uint64_t step = kStepBytes / file.dtype.itemsize;
  std::vector<std::byte> stored, decoded(file.array->scratch_need(step).out_bytes);
  std::vector<Piece> pieces;
  for (std::uint64_t first = rows.first; first < rows.end(); first += step) {
    pieces.clear();
    HEADRACE_TRY(file.array->locate({first, std::min(step, rows.end() - first)}, pieces));
    for (const Piece& piece : pieces) {
      stored.resize(piece.stored.range.size);
      HEADRACE_TRY(piece.stored.file->read_at(piece.stored.range.offset, stored));
      HEADRACE_ASSIGN(const DecodedPiece values, file.array->decode(piece, stored, {decoded, {}, {}}));
      const std::span<const std::byte> bytes(values.data, piece.rows.count * file.dtype.itemsize);
      if (const Found found = find_outside(file.dtype, bytes, limit); found.at != kNone)
        return id_outside(file, piece.rows.first + found.at, found.id);
    }
    if (go_on && !go_on()) return Error(ErrorCode::kCancelled, "stopped while ids were checked");
  }
  return {};
}

}  // namespace headrace::token_files
