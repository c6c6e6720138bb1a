#include "codec/codec_chain.h"

#include <rapidcheck.h>
#include <zlib.h>

#include <thread>

#include "codec/checksum/fletcher32_sum.h"
#include "codec/coded_bytes.h"
#include "codec/golden_testing.h"

namespace headrace {
namespace {

const std::string kDeflate = "deflate", kShuffle = "shuffle", kFletcher = "fletcher32";

Bytes encode(const FilterSpec& filter, Bytes data) {
  if (filter.name == kDeflate) {
    uLongf size = compressBound(data.size());
    Bytes packed(size);
    compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()), data.size(),
              1);
    packed.resize(size);
    return packed;
  }
  if (filter.name == kFletcher) {
    const std::uint32_t sum = fletcher32_sum_scalar(as_u8(data.data()), data.size());
    for (int shift = 0; shift < 32; shift += 8) data.push_back(static_cast<std::byte>(sum >> shift));
    return data;
  }
  Bytes planes = data;
  const std::size_t size = filter.parameters[0], elements = data.size() / size;
  for (std::size_t e = 0; e < elements; ++e)
    for (std::size_t b = 0; b < size; ++b) planes[b * elements + e] = data[e * size + b];
  return planes;
}

FilterSpec filter(const std::string& name) {
  if (name == kShuffle) return {name, {4}};
  return {name, {}};
}

TEST(CodecChain, AnyPipelineWithAnyMask) {
  EXPECT_TRUE(rc::check("round trip", [] {
    std::vector<FilterSpec> filters;
    for (const auto& name :
         *rc::gen::container<std::vector<std::string>>(rc::gen::element(kDeflate, kShuffle, kFletcher))) {
      if (filters.size() < 6) filters.push_back(filter(name));
    }
    const auto mask = *rc::gen::oneOf(rc::gen::just(0u), rc::gen::arbitrary<std::uint32_t>());
    const Bytes plain = mixed_bytes(*rc::gen::inRange<std::size_t>(0, 3000), 3);
    auto chain = CodecChain::make(filters, {plain.size(), 4});
    RC_ASSERT(chain.ok());
    Bytes stored = plain;
    for (std::size_t i = 0; i < filters.size(); ++i)
      if ((mask >> i & 1) == 0) stored = encode(filters[i], stored);
    RC_ASSERT(stored.size() <= chain->max_stored_bytes());
    ExactBuffer out(plain.size());
    const Status status = decode_chain(*chain, stored, mask, out.span());
    RC_ASSERT(status.ok());
    RC_ASSERT(out.bytes() == plain);
    bool deflated = false;
    for (std::size_t i = 0; i < filters.size(); ++i) deflated |= (mask >> i & 1) == 0 && filters[i].name == kDeflate;
    stored.push_back(std::byte{1});  // a byte too many is noticed, except behind a deflate stream, as in HDF5
    if (!deflated) RC_ASSERT_FALSE(decode_chain(*chain, stored, mask, out.span()).ok());
  }));
}

TEST(CodecChain, EmptyOrWhollyMaskedIsACopyOfExactSize) {
  const Bytes plain = random_bytes(100, 1);
  const CodecChain empty;
  const auto masked = CodecChain::make({filter(kDeflate), filter(kFletcher)}, {100, 4});
  for (const CodecChain* chain : {&empty, &*masked}) {
    ExactBuffer out(100);
    ASSERT_TRUE(chain->decode(plain, ~0u, out.span(), {}).ok());
    EXPECT_TRUE(out.bytes() == plain);
    for (const std::size_t size : {0, 99}) {
      const Status status = chain->decode(std::span(plain).first(size), ~0u, out.span(), {});
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code(), ErrorCode::kCorruptData);
    }
  }
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.scratch_bytes(), 0u);
}

TEST(CodecChain, OneFilterNeedsNoScratchAndMoreNeedWhatTheyHold) {
  EXPECT_EQ(CodecChain::make({filter(kDeflate)}, {1000, 4})->scratch_bytes(), 0u);
  EXPECT_EQ(CodecChain::make({filter(kShuffle), filter(kDeflate)}, {1000, 4})->scratch_bytes(), 1000u);
  EXPECT_EQ(CodecChain::make({filter(kFletcher), filter(kDeflate)}, {1000, 4})->scratch_bytes(), 1004u);
  EXPECT_EQ(CodecChain::make({filter(kShuffle), filter(kFletcher)}, {1000, 4})->max_stored_bytes(), 1004u);
  const auto chain = CodecChain::make({filter(kShuffle), filter(kDeflate)}, {1000, 4});
  Bytes small(999), out(1000);
  const Status status = chain->decode(encode(filter(kDeflate), Bytes(1000)), 0, out, {small, {}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
}

TEST(CodecChain, ErrorsNameTheFilter) {
  const Bytes plain = mixed_bytes(1000, 2);
  const std::vector<FilterSpec> filters{filter(kShuffle), filter(kDeflate), filter(kFletcher)};
  const auto chain = CodecChain::make(filters, {1000, 4});
  const auto refused = [&](const Bytes& stored) -> std::string {
    ExactBuffer out(1000);
    const Status status = decode_chain(*chain, stored, 0, out.span());
    return status.ok() ? "decoded" : status.error().what();
  };
  const Bytes packed = encode(filter(kDeflate), encode(filter(kShuffle), plain));
  Bytes flipped = encode(filter(kFletcher), packed);
  flipped[3] ^= std::byte{1};
  EXPECT_EQ(refused(flipped).find("fletcher32: checksum mismatch: stored 0x"), 0u) << refused(flipped);
  const Bytes cut(packed.begin(), packed.begin() + 50);
  EXPECT_EQ(refused(encode(filter(kFletcher), cut)).find("deflate: stream ends after "), 0u);
  EXPECT_EQ(refused(encode(filter(kFletcher), encode(filter(kDeflate), Bytes(999)))),
            "deflate: decodes to 999 bytes, 1000 expected");
  EXPECT_EQ(refused(encode(filter(kFletcher), encode(filter(kDeflate), Bytes(1001)))),
            "deflate: stream holds more than the expected 1000 bytes");
  const auto sum_inside = CodecChain::make({filter(kFletcher)}, {1000, 4});
  ExactBuffer out(1000);
  EXPECT_STREQ(decode_chain(*sum_inside, Bytes(1003), 0, out.span()).error().what(),
               "fletcher32: 1003 bytes to decode, 1004 expected");
}

TEST(CodecChain, RefusesWhatItCannotMake) {
  const auto unknown = CodecChain::make({filter(kShuffle), {"ZFP", {}}}, {1000, 4});
  EXPECT_EQ(unknown.error().code(), ErrorCode::kUnsupported);
  EXPECT_STREQ(unknown.error().what(), "ZFP: there is no decoder for 'ZFP'");
  EXPECT_EQ(CodecChain::make(std::vector<FilterSpec>(33, filter(kDeflate)), {1000, 4}).error().code(),
            ErrorCode::kCorruptData);
  EXPECT_EQ(CodecChain::make({filter(kDeflate)}, {~std::uint64_t{0}, 4}).error().code(), ErrorCode::kCorruptData);
  const auto longest = CodecChain::make(std::vector<FilterSpec>(32, {"bitshuffle", {0, 4, 4, 0, 2}}), {1ull << 50, 4});
  EXPECT_GE(longest->max_stored_bytes(), 1ull << 50);  // and has not overflowed
}

TEST(CodecChain, OneChainServesManyThreads) {
  const auto chunks = golden_chunks();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  std::vector<CodecChain> chains;
  for (const GoldenChunk& golden : chunks)
    chains.push_back(std::move(*CodecChain::make(golden.filters, {golden.plain.size(), golden.element_bytes})));
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < chunks.size(); ++i) {
          ExactBuffer out(chunks[i].plain.size());
          if (!decode_chain(chains[i], chunks[i].stored, chunks[i].skip_mask, out.span()).ok() ||
              out.bytes() != chunks[i].plain)
            ++wrong[t];
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace headrace
