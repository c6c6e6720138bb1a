#include "codec/codec_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxFilters = 32;  // H5Z_MAX_NFILTERS; also the bits of a filter mask.
// Above any chunk that can be held; below it the folded bounds of 32 filters cannot overflow.
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 56;
constexpr std::uint64_t kMaxBoundBytes = std::uint64_t{1} << 62;

}  // namespace

Result<CodecChain> CodecChain::make(const std::vector<FilterSpec>& filters, const ChunkForm& form) {
  if (filters.size() > kMaxFilters)
    return corrupt(fmt::format("{} filters in the pipeline, {} is the most there can be", filters.size(), kMaxFilters));
  if (form.chunk_bytes > kMaxChunkBytes) return corrupt(fmt::format("a chunk of {} bytes", form.chunk_bytes));
  CodecChain chain;
  std::uint64_t bound = form.chunk_bytes;  // what can come out of the filters so far, at most
  for (std::size_t i = 0; i < filters.size(); ++i) {
    auto codec = make_codec(filters[i], form);
    if (!codec.ok()) return std::move(codec.error().with_stage(filters[i].name));
    if (i > 0) chain.scratch_bytes_ = std::max(chain.scratch_bytes_, bound);
    bound = std::min((*codec)->encoded_size(bound).value_or((*codec)->max_encoded_size(bound)), kMaxBoundBytes);
    chain.codecs_.push_back(std::move(*codec));
  }
  chain.max_stored_bytes_ = std::max(bound, form.chunk_bytes);
  return chain;
}

Status CodecChain::decode(std::span<const std::byte> stored, std::uint32_t skip_mask, std::span<std::byte> out,
                          const CodecScratch& scratch) const {
  // size[i] is what filter i was given when writing, where that follows from the chunk's size; bound[i] the most it
  // was.
  std::array<std::optional<std::uint64_t>, kMaxFilters + 1> size;
  std::array<std::uint64_t, kMaxFilters + 1> bound{};
  std::array<std::uint8_t, kMaxFilters> active{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < codecs_.size(); ++i)
    if ((skip_mask >> i & 1) == 0) active[count++] = static_cast<std::uint8_t>(i);
  size[0] = bound[0] = out.size();
  for (std::size_t k = 0; k < count; ++k) {
    const Codec& codec = *codecs_[active[k]];
    if (size[k]) size[k + 1] = codec.encoded_size(*size[k]);
    bound[k + 1] = std::min(
        size[k + 1].value_or(codec.encoded_size(bound[k]).value_or(codec.max_encoded_size(bound[k]))), kMaxBoundBytes);
  }

  if (count == 0) {
    if (stored.size() != out.size())
      return corrupt(fmt::format("the unfiltered chunk has {} stored bytes, {} expected", stored.size(), out.size()));
    copy_bytes(out.data(), stored.data(), out.size());
    return {};
  }
  std::span<const std::byte> in = stored;
  for (std::size_t k = count; k-- > 0;) {
    const Codec& codec = *codecs_[active[k]];
    if (size[k + 1] && in.size() != *size[k + 1])
      return corrupt(fmt::format("{} bytes to decode, {} expected", in.size(), *size[k + 1])).with_stage(codec.name());
    std::span<std::byte> target = out;
    if (k > 0) {
      const std::span<std::byte> buffer = (count - k) % 2 == 1 ? scratch.ping : scratch.pong;
      if (buffer.size() < bound[k])
        return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", buffer.size(), bound[k]));
      target = buffer.first(static_cast<std::size_t>(bound[k]));
    }
    auto written = codec.decode(in, target);
    if (!written.ok()) return std::move(written.error().with_stage(codec.name()));
    if (size[k] && *written != *size[k])
      return corrupt(fmt::format("decodes to {} bytes, {} expected", *written, *size[k])).with_stage(codec.name());
    in = target.first(*written);
  }
  return {};
}

}  // namespace headrace
