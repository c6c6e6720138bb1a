// How fast kernels and filters decode, in bytes of output a second, on one thread, for chunks of 1 MiB of zero-padded
// floats like jets. cmake -DHEADRACE_BUILD_MICROBENCH=ON; then build/…/codec_bench.
#include <benchmark/benchmark.h>
#include <blosc.h>
#include <libaec.h>
#include <libdeflate.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "codec/checksum/fletcher32_sum.h"
#include "codec/codec_chain.h"
#include "codec/elements/bitunshuffle.h"
#include "codec/elements/byteswap.h"
#include "codec/elements/unshuffle.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kChunkBytes = 1 << 20;

std::uint8_t* u8(Bytes& bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes.data());
}

/// Rows of 128 x 16 float32, the first 20 to 100 particles of each filled, the rest zero.
Bytes jets() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kChunkBytes / sizeof(float));
  for (std::size_t row = 0; row < values.size(); row += 2048) {
    const std::size_t filled = 16 * (20 + random() % 80);
    for (std::size_t i = 0; i < filled; ++i) values[row + i] = normal(random);
  }
  Bytes bytes(kChunkBytes);
  std::memcpy(bytes.data(), values.data(), kChunkBytes);
  return bytes;
}

Bytes shuffled(const Bytes& plain, std::size_t size) {
  Bytes planes(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) planes[i % size * (plain.size() / size) + i / size] = plain[i];
  return planes;
}

void finish(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * std::int64_t{kChunkBytes});
}

template <auto Kernel>
void transpose(benchmark::State& state) {
  const auto element_bytes = static_cast<std::size_t>(state.range(0));
  Bytes in = jets(), out(kChunkBytes);
  for (auto _ : state) {
    Kernel(u8(in), kChunkBytes / element_bytes, element_bytes, u8(out));
    benchmark::ClobberMemory();
  }
  finish(state);
}
// Bitshuffle works in blocks of 8 KiB.
template <auto Kernel>
void bit_transpose(benchmark::State& state) {
  const auto element_bytes = static_cast<std::size_t>(state.range(0));
  Bytes in = jets(), out(kChunkBytes);
  for (auto _ : state) {
    for (std::size_t at = 0; at < kChunkBytes; at += 8192)
      Kernel(u8(in) + at, 8192 / element_bytes, element_bytes, u8(out) + at);
    benchmark::ClobberMemory();
  }
  finish(state);
}
BENCHMARK(transpose<unshuffle>)->Arg(2)->Arg(3)->Arg(4)->Arg(8)->Arg(16)->Arg(28);
BENCHMARK(transpose<unshuffle_scalar>)->Arg(2)->Arg(4)->Arg(8)->Arg(16);
BENCHMARK(bit_transpose<bitunshuffle>)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(bit_transpose<bitunshuffle_scalar>)->Arg(4);

void copy(benchmark::State& state) {
  Bytes in = jets(), out(kChunkBytes);
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), kChunkBytes);
    benchmark::ClobberMemory();
  }
  finish(state);
}
BENCHMARK(copy);

template <auto Sum>
void fletcher(benchmark::State& state) {
  Bytes in = jets();
  for (auto _ : state) benchmark::DoNotOptimize(Sum(u8(in), kChunkBytes));
  finish(state);
}
BENCHMARK(fletcher<fletcher32_sum>);
BENCHMARK(fletcher<fletcher32_sum_scalar>);

template <auto Swap>
void byteswap(benchmark::State& state) {
  Bytes in = jets();
  for (auto _ : state) {
    Swap(in, static_cast<std::size_t>(state.range(0)));
    benchmark::ClobberMemory();
  }
  finish(state);
}
BENCHMARK(byteswap<swap_bytes>)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(byteswap<swap_bytes_scalar>)->Arg(4);

// ---- whole filters

Bytes zlib_stream(const Bytes& plain) {
  uLongf size = compressBound(plain.size());
  Bytes stored(size);
  compress2(reinterpret_cast<Bytef*>(stored.data()), &size, reinterpret_cast<const Bytef*>(plain.data()), plain.size(),
            4);
  stored.resize(size);
  return stored;
}
Bytes zstd_frame(const Bytes& plain) {
  Bytes stored(ZSTD_compressBound(plain.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), plain.data(), plain.size(), 3));
  return stored;
}
Bytes lz4_block(const std::byte* plain, std::size_t size) {
  Bytes packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size))));
  packed.resize(static_cast<std::size_t>(
      LZ4_compress_default(reinterpret_cast<const char*>(plain), reinterpret_cast<char*>(packed.data()),
                           static_cast<int>(size), static_cast<int>(packed.size()))));
  return packed;
}
void put_be(Bytes& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift));
}
Bytes lz4_stream(const Bytes& plain, std::size_t block_bytes) {
  Bytes stored;
  put_be(stored, plain.size(), 8);
  put_be(stored, block_bytes, 4);
  for (std::size_t at = 0; at < plain.size(); at += block_bytes) {
    const Bytes packed = lz4_block(plain.data() + at, block_bytes);
    put_be(stored, packed.size(), 4);
    stored.insert(stored.end(), packed.begin(), packed.end());
  }
  return stored;
}
Bytes bitshuffled(const Bytes& plain) {
  Bytes planes(plain.size());
  for (std::size_t at = 0; at < plain.size(); at += 8192)
    for (std::size_t e = 0; e < 2048; ++e)
      for (std::size_t bit = 0; bit < 32; ++bit)
        planes[at + bit * 256 + e / 8] |= (plain[at + 4 * e + bit / 8] >> bit % 8 & std::byte{1}) << e % 8;
  return planes;
}
Bytes blosc_buffer(const Bytes& plain, const char* compressor, int shuffle) {
  Bytes stored(plain.size() + BLOSC_MAX_OVERHEAD);
  stored.resize(static_cast<std::size_t>(
      blosc_compress_ctx(5, shuffle, 4, plain.size(), plain.data(), stored.data(), stored.size(), compressor, 0, 1)));
  return stored;
}

/// A stream of scale-offset: any bits are distances.
Bytes scaled(std::uint8_t bits) {
  Bytes stored = jets();
  stored.resize(21 + kChunkBytes / 32 * bits);
  std::fill_n(stored.begin(), 21, std::byte{0});
  stored[0] = std::byte{bits};
  stored[4] = std::byte{8};
  return stored;
}
Bytes szip_stream(const Bytes& plain) {
  Bytes planes = shuffled(plain, 4), stored(2 * plain.size());
  aec_stream stream{};
  stream.next_in = u8(planes);
  stream.avail_in = planes.size();
  stream.next_out = u8(stored) + 4;
  stream.avail_out = stored.size() - 4;
  stream.bits_per_sample = 8;
  stream.block_size = 8;
  stream.rsi = 128;
  stream.flags = AEC_NOT_ENFORCE | AEC_DATA_PREPROCESS;
  aec_buffer_encode(&stream);
  stored.resize(4 + stream.total_out);
  const auto size = static_cast<std::uint32_t>(plain.size());
  std::memcpy(stored.data(), &size, sizeof size);
  return stored;
}

void run(benchmark::State& state, const std::vector<FilterSpec>& filters, const Bytes& stored) {
  const auto chain = CodecChain::make(filters, {kChunkBytes, 4});
  Bytes out(kChunkBytes), ping(chain->scratch_bytes()), pong(chain->scratch_bytes());
  for (auto _ : state) {
    if (!chain->decode(stored, 0, out, {ping, pong}).ok()) return state.SkipWithError("damaged");
    benchmark::ClobberMemory();
  }
  finish(state);
  state.counters["ratio"] = static_cast<double>(kChunkBytes) / static_cast<double>(stored.size());
}

const FilterSpec kShuffle{"shuffle", {4}}, kDeflate{"deflate", {4}};

BENCHMARK_CAPTURE(run, gzip, {kDeflate}, zlib_stream(jets()));
BENCHMARK_CAPTURE(run, shuffle_gzip, {kShuffle, kDeflate}, zlib_stream(shuffled(jets(), 4)));
BENCHMARK_CAPTURE(run, zstd, {{"zstd", {}}}, zstd_frame(jets()));
BENCHMARK_CAPTURE(run, shuffle_zstd, {kShuffle, {"zstd", {}}}, zstd_frame(shuffled(jets(), 4)));
BENCHMARK_CAPTURE(run, lz4, {{"lz4", {}}}, lz4_stream(jets(), 1 << 20));
BENCHMARK_CAPTURE(run, shuffle_lz4, {kShuffle, {"lz4", {}}}, lz4_stream(shuffled(jets(), 4), 1 << 20));
BENCHMARK_CAPTURE(run, bitshuffle_lz4, {{"bitshuffle", {0, 4, 4, 0, 2}}}, lz4_stream(bitshuffled(jets()), 8192));
BENCHMARK_CAPTURE(run, blosc_lz4, {{"blosc", {}}}, blosc_buffer(jets(), "lz4", 0));
BENCHMARK_CAPTURE(run, blosc_lz4_shuffle, {{"blosc", {}}}, blosc_buffer(jets(), "lz4", 1));
BENCHMARK_CAPTURE(run, blosc_lz4_bitshuffle, {{"blosc", {}}}, blosc_buffer(jets(), "lz4", 2));
BENCHMARK_CAPTURE(run, blosc_zstd_shuffle, {{"blosc", {}}}, blosc_buffer(jets(), "zstd", 1));
constexpr std::uint32_t kElements = kChunkBytes / 4;
BENCHMARK_CAPTURE(run, scaleoffset_13,
                  {{"scaleoffset", {2, 0, kElements, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}, scaled(13));
BENCHMARK_CAPTURE(run, scaleoffset_float,
                  {{"scaleoffset", {0, 3, kElements, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}, scaled(13));
BENCHMARK_CAPTURE(run, nbit_17, {{"nbit", {8, 0, kElements, 1, 4, 0, 17, 3}}}, scaled(17));
BENCHMARK_CAPTURE(run, szip, {{"szip", {169, 8, 32, 1024}}}, szip_stream(jets()));

}  // namespace
}  // namespace headrace

BENCHMARK_MAIN();
