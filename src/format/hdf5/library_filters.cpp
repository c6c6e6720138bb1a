#include "format/hdf5/library_filters.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <vector>

#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {
namespace {

// H5Zscaleoffset.c: 20 parameters; [2] elements a chunk, [3] class, [4] element bytes, [5] sign, [6] order, [7] fill.
constexpr std::size_t kScaleOffsetParameters = 20;
// Its streams begin with 4 bytes of bit count, 1 byte that says 8, 8 bytes of minimum, 8 unused.
constexpr std::size_t kScaleOffsetHeadBytes = 21;

std::string scale_offset_flaw(const std::vector<std::uint32_t>& p, const ChunkForm& form) {
  if (p.size() != kScaleOffsetParameters) return fmt::format("{} parameters, 20 expected", p.size());
  const std::uint64_t bytes = std::uint64_t{p[2]} * p[4];
  const bool integer = p[3] == 0, floating = p[3] == 1;
  const bool size_fits = integer ? p[4] == 1 || p[4] == 2 || p[4] == 4 || p[4] == 8 : p[4] == 4 || p[4] == 8;
  if (bytes != form.chunk_bytes || p[4] != form.element_bytes || !(integer || floating) || !size_fits || p[0] > 2 ||
      (p[0] == 2) != integer || p[5] > 1 || p[6] > 1 || p[7] > 1)
    return "its parameters contradict the array";
  return {};
}

// H5Znbit.c: [0] count of parameters, [1] nothing to do, [2] elements, then the type: 1 size order precision offset for
// numbers, 2 size type for arrays, 3 size members (offset type)… for records, 4 size for what is left as it is.
class NBitType {
 public:
  explicit NBitType(const std::vector<std::uint32_t>& parameters) : p_(parameters) {}
  /// Bits an element takes in the stream, or nothing if the parameters make no sense.
  bool check(std::uint64_t size, int depth, std::uint64_t& bits) {
    const std::uint32_t kind = next(), own = next();
    if (!ok_ || depth > 16 || own == 0 || own > size) return false;
    if (kind == 4) return bits = std::uint64_t{own} * 8, true;
    if (kind == 1) {
      const std::uint32_t order = next(), precision = next(), offset = next();
      bits = precision;
      return ok_ && order <= 1 && precision > 0 && std::uint64_t{precision} + offset <= std::uint64_t{own} * 8;
    }
    if (kind == 2) {
      if (at_ + 1 >= p_.size() || p_[at_ + 1] == 0 || own % p_[at_ + 1] != 0) return false;
      const std::uint64_t base = p_[at_ + 1];
      if (!check(base, depth + 1, bits)) return false;
      bits *= own / base;
      return true;
    }
    if (kind != 3) return false;
    std::uint64_t sum = 0;
    const std::uint32_t members = next();
    for (std::uint32_t i = 0; ok_ && i < members; ++i) {
      const std::uint32_t offset = next();
      if (!ok_ || offset >= own || !check(own - offset, depth + 1, bits)) return false;
      sum += bits;
    }
    bits = sum;
    return ok_ && members > 0;
  }
  std::uint32_t next() {
    if (at_ < p_.size()) return p_[at_++];
    ok_ = false;
    return 0;
  }

 private:
  const std::vector<std::uint32_t>& p_;
  std::size_t at_ = 3;
  bool ok_ = true;
};

std::string n_bit_flaw(const std::vector<std::uint32_t>& p, const ChunkForm& form, std::uint64_t& stream_bytes) {
  const std::uint64_t elements = form.chunk_bytes / form.element_bytes;
  std::uint64_t bits = 0;
  if (p.size() < 5 || p[0] != p.size() || p[1] > 1 || p[2] != elements ||
      !NBitType(p).check(form.element_bytes, 0, bits))
    return "its parameters contradict the array";
  stream_bytes = p[1] == 1 ? form.chunk_bytes : (elements * bits + 7) / 8;
  return {};
}

}  // namespace

std::string library_filter_flaw(const StoredFilter& spec, const ChunkForm& form) {
  std::uint64_t unused = 0;
  if (spec.id == H5Z_FILTER_SCALEOFFSET) return scale_offset_flaw(spec.client_values, form);
  if (spec.id == H5Z_FILTER_NBIT) return n_bit_flaw(spec.client_values, form, unused);
  return {};
}

std::string library_stream_flaw(const StoredFilter& spec, const ChunkForm& form, std::span<const std::byte> stored) {
  std::uint64_t need = 0;
  if (spec.id == H5Z_FILTER_SCALEOFFSET && spec.client_values[3] == 0 &&
      spec.client_values[1] == 8 * form.element_bytes) {
    need = form.chunk_bytes;  // integers of full width are left as they are
  } else if (spec.id == H5Z_FILTER_SCALEOFFSET) {
    ByteCursor fields(stored);
    const std::uint64_t bits = fields.number(4), minimum_bytes = fields.number(1);
    if (minimum_bytes != 8 || bits > 8 * form.element_bytes)
      return fmt::format("{} bits an element of {} bytes", bits, form.element_bytes);
    need = kScaleOffsetHeadBytes + (form.chunk_bytes / form.element_bytes * bits + 7) / 8;
  } else if (spec.id == H5Z_FILTER_NBIT) {
    if (std::string why = n_bit_flaw(spec.client_values, form, need); !why.empty()) return why;
  }
  if (stored.size() >= need) return {};
  return fmt::format("the stream has {} bytes, {} needed", stored.size(), need);
}

}  // namespace headrace::hdf5
