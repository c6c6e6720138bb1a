// What the tests of the codec layer share: buffers that notice a byte too many, data of several kinds, and damage.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "codec/codec.h"

namespace headrace {

using Bytes = std::vector<std::byte>;

/// A heap block of exactly `size` bytes under AddressSanitizer; elsewhere with guard bytes that must stay as they are.
class ExactBuffer {
 public:
  explicit ExactBuffer(std::size_t size) : size_(size), data_(new std::byte[size + kGuardBytes]) {
    std::memset(data_.get(), 0xa5, size + kGuardBytes);
  }
  explicit ExactBuffer(std::span<const std::byte> copy) : ExactBuffer(copy.size()) {
    if (!copy.empty()) std::memcpy(data_.get(), copy.data(), copy.size());
  }
  ~ExactBuffer() {
    for (std::size_t i = 0; i < kGuardBytes; ++i)
      EXPECT_EQ(data_[size_ + i], std::byte{0xa5}) << "written past the end";
  }
  ExactBuffer(const ExactBuffer&) = delete;
  ExactBuffer& operator=(const ExactBuffer&) = delete;
  [[nodiscard]] std::span<std::byte> span() { return {data_.get(), size_}; }
  [[nodiscard]] std::uint8_t* u8() { return reinterpret_cast<std::uint8_t*>(data_.get()); }
  [[nodiscard]] Bytes bytes() const { return {data_.get(), data_.get() + size_}; }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kGuardBytes = 0;
#else
  static constexpr std::size_t kGuardBytes = 64;
#endif
  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

inline Bytes random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Run of equal bytes, short repeats and noise, so that every branch of a compressor's format occurs.
inline Bytes mixed_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes;
  while (bytes.size() < size) {
    const std::size_t run = 1 + random() % 400, period = 1 + random() % (random() % 4 == 0 ? 300 : 12);
    const bool noise = random() % 3 == 0;
    const std::size_t start = bytes.size();
    for (std::size_t i = 0; i < run; ++i)
      bytes.push_back(noise || i < period ? static_cast<std::byte>(random()) : bytes[start + i - period]);
  }
  bytes.resize(size);
  return bytes;
}

/// Run `body` once for every SIMD target of this machine, the plainest last.
inline void for_each_target(const std::function<void()>& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline std::unique_ptr<Codec> codec_of(const std::string& name, std::vector<std::uint32_t> values,
                                       std::uint64_t bytes = 0) {
  auto codec = make_codec({name, std::move(values)}, {bytes, 1});
  EXPECT_TRUE(codec.ok()) << (codec.ok() ? "" : codec.error().what());
  return codec.ok() ? std::move(*codec) : nullptr;
}

/// Decode from and into buffers of exact size.
inline Result<Bytes> decode(const Codec& codec, std::span<const std::byte> stored, std::size_t size) {
  ExactBuffer in(stored), out(size);
  auto written = codec.decode(in.span(), out.span());
  if (!written.ok()) return std::move(written.error());
  EXPECT_LE(*written, size);
  Bytes bytes = out.bytes();
  bytes.resize(*written);
  return bytes;
}

inline void expect_decodes(const Codec& codec, const Bytes& stored, const Bytes& plain) {
  auto decoded = decode(codec, stored, plain.size());
  ASSERT_TRUE(decoded.ok()) << decoded.error().what();
  EXPECT_TRUE(*decoded == plain);
}

/// The error of a decode that must fail.
inline Error expect_refused(const Codec& codec, std::span<const std::byte> stored, std::size_t size) {
  auto decoded = decode(codec, stored, size);
  EXPECT_FALSE(decoded.ok());
  return decoded.ok() ? Error(ErrorCode::kInternal, "decoded") : decoded.error();
}

/// Every truncation, every single flipped bit, and an output one byte and ten times too small: no crash, no byte out of
/// bounds (the buffers see to that), and damage is an error of kCorruptData or at most `plain.size()` bytes.
inline void expect_survives_damage(const Codec& codec, const Bytes& stored, const Bytes& plain) {
  const auto check = [&](std::span<const std::byte> damaged, std::size_t size) {
    auto decoded = decode(codec, damaged, size);
    if (decoded.ok()) return;
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruptData) << decoded.error().what();
  };
  for (std::size_t size = 0; size < stored.size(); ++size) check(std::span(stored).first(size), plain.size());
  Bytes flipped = stored;
  for (std::size_t bit = 0; bit < 8 * stored.size(); ++bit) {
    const std::byte mask{static_cast<std::uint8_t>(1u << bit % 8)};
    flipped[bit / 8] ^= mask;
    check(flipped, plain.size());
    flipped[bit / 8] ^= mask;
  }
  for (const std::size_t size : {plain.size() - 1, plain.size() / 10, std::size_t{0}}) check(stored, size);
  check(stored, plain.size() + 100);
}

/// For streams with a checksum: truncated at any byte they are refused; with a bit flipped they are too, or still
/// decode to `plain`.
inline void expect_notices_damage(const Codec& codec, const Bytes& stored, const Bytes& plain) {
  for (std::size_t size = 0; size < stored.size(); ++size)
    expect_refused(codec, std::span(stored).first(size), plain.size());
  for (std::size_t bit = 0; bit < 8 * stored.size(); ++bit) {
    Bytes flipped = stored;
    flipped[bit / 8] ^= std::byte{static_cast<std::uint8_t>(1u << bit % 8)};
    auto decoded = decode(codec, flipped, plain.size());
    EXPECT_FALSE(decoded.ok() && *decoded != plain) << "bit " << bit;
  }
}

}  // namespace headrace
