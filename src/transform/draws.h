// Draws: the random numbers of a transform for a sample.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random/philox.h"
#include "transform/kernel.h"

namespace headrace {

/// Keys by (transform, its seed, the loader's seed, epoch, sample). Immutable. Threads: any.
class Draws {
 public:
  /// \param transform  Its name, and its field's where each field has draws of its own: two transforms of one seed
  /// draw differently.
  Draws(std::string_view transform, std::uint64_t seed) : own_(RandomKey::of({seed})) {
    for (const char letter : transform) own_ = own_.with(static_cast<unsigned char>(letter));
  }
  [[nodiscard]] RandomKey of(const SampleKey& key) const { return of_epoch(key.seed, key.epoch).with(key.sample); }
  /// Return the key that those of all samples of an epoch begin with.
  [[nodiscard]] RandomKey of_epoch(std::uint64_t seed, std::uint64_t epoch) const {
    // The last one of this thread: samples come one after the other.
    thread_local struct {
      RandomKey own, made;
      std::uint64_t seed, epoch;
      bool known = false;
    } last;
    if (!last.known || last.own != own_ || last.seed != seed || last.epoch != epoch)
      last = {own_, own_.with(seed).with(epoch), seed, epoch, true};
    return last.made;
  }

 private:
  RandomKey own_;
};

/// Return a whole number below `bound` from 32 random bits. Bounds are small: no value is favoured by more than
/// bound / 2^32.
constexpr std::uint64_t below(std::uint32_t bits, std::uint64_t bound) {
  return std::uint64_t{bits} * bound >> 32;
}

}  // namespace headrace
