// shuffle (HDF5 filter 2): byte planes back to elements. Source: H5Zshuffle.c; client value 0 is the element size.
#include <fmt/format.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/elements/unshuffle.h"

namespace headrace {
namespace {

class Shuffle final : public Codec {
 public:
  explicit Shuffle(std::size_t element_bytes) : element_bytes_(element_bytes) {}
  [[nodiscard]] std::string_view name() const override { return "shuffle"; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override { return decoded; }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override { return decoded; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() > out.size()) return corrupt(fmt::format("{} bytes where {} are expected", in.size(), out.size()));
    const std::size_t elements = in.size() / element_bytes_, whole = elements * element_bytes_;
    unshuffle(as_u8(in.data()), elements, element_bytes_, as_u8(out.data()));
    copy_bytes(out.data() + whole, in.data() + whole, in.size() - whole);
    return in.size();
  }

 private:
  std::size_t element_bytes_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_shuffle(const FilterSpec& spec, const ChunkForm& /*form*/) {
  if (spec.parameters.empty() || spec.parameters[0] == 0)
    return corrupt("the shuffle filter does not say its element size");
  return std::unique_ptr<Codec>(std::make_unique<Shuffle>(spec.parameters[0]));
}

}  // namespace headrace
