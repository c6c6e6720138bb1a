#include "tools/advise/forecast.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "assembly/kept/keep_forecast.h"
#include "base/text/number_text.h"
#include "loader/plan/plan_memory.h"

namespace headrace {
namespace {

constexpr double kEngineShare = 0.95;    // of the blocks' rate that is left beside planning and handing over
constexpr double kDirectoryShare = 0.8;  // of the gather from plain memory, through a mapped file
constexpr double kNoDecoding = 50e9;     // bytes a second: rows are taken where they were read
constexpr double kClearly = 1.02;        // what an order of keeping must take longer by to be the worse one
constexpr double kWorthIt = 1.3;         // what a cache must gain to be worth its memory or disk

double mixed_rate(double share, double fast, double slow) {
  return share >= 1 ? fast : 1 / (share / std::max(fast, 1e-9) + (1 - share) / std::max(slow, 1e-9));
}

/// Seconds of a row, and its parts, with each block decoded `decodes` times.
struct RowTime {
  double read = 0, decode = 0, move = 0, other = 0;
  [[nodiscard]] double total() const { return read + decode + move + other; }
};
RowTime row_time(const Probe& probe, const DataFacts& facts, double decodes, std::uint32_t threads) {
  const double whole = 1 / std::max(probe.rows_per_s(threads), 1e-9);
  const ServingRate& s = threads > 1 ? probe.many : probe.one;
  const double again = 1 + (decodes - 1) * facts.chunked_share;  // rows that are addressable are read once all the same
  RowTime t{whole * s.read_share * again, whole * s.decode_share * again, whole * s.scatter_share, 0};
  t.other = whole * std::max(0.0, 1 - s.read_share - s.decode_share - s.scatter_share);
  return t;
}

Bottleneck largest(const RowTime& t, double decodes, const DataFacts& facts) {
  if (facts.slow_path && t.decode >= t.read && t.decode >= t.move) return Bottleneck::kOneAtATime;
  const double repeated = (t.read + t.decode) * (1 - 1 / decodes);
  if (!facts.redraws && repeated > 0.5 * t.total()) return Bottleneck::kDecodingAgain;
  if (t.decode >= t.read && t.decode >= t.move) return Bottleneck::kDecoding;
  return t.read >= t.move ? Bottleneck::kReading : Bottleneck::kMoving;
}

Forecast forecast_of(RowTime t, const Probe& probe, const DataFacts& facts, double decodes, double stored_share) {
  Forecast out;
  out.decodes = decodes;
  out.warm = kEngineShare / t.total();
  out.warm_bottleneck = largest(t, decodes, facts);
  const double read_bytes = stored_share * probe.stored_bytes_a_row * (1 + (decodes - 1) * facts.chunked_share);
  const auto limit = [](double seconds) { return seconds > 0 ? 1 / seconds : 0; };
  out.decode_limit = limit(t.decode);
  out.move_limit = limit(t.move);
  out.warm_read_limit = limit(t.read);
  if (probe.reads.late()) {  // other threads read ahead of decoding: nothing is added to its time
    out.cold_read_limit = limit(read_bytes / std::max(probe.reads.cold_bytes_per_s, 1.0));
    out.cold = std::min(out.warm, out.cold_read_limit);
    out.cold_bottleneck = out.cold < out.warm ? Bottleneck::kReading : out.warm_bottleneck;
    return out;
  }
  // A thread waits for its own reads: what they take longer comes on top.
  if (probe.reads.cold_bytes_per_s > 0) t.read = std::max(t.read, read_bytes / probe.reads.cold_bytes_per_s);
  out.cold_read_limit = limit(t.read);
  out.cold = std::min(kEngineShare / t.total(), out.warm);
  out.cold_bottleneck = largest(t, decodes, facts);
  return out;
}

}  // namespace

Forecast forecast(const Probe& probe, const DataFacts& facts, double decodes, std::uint32_t threads) {
  return forecast_of(row_time(probe, facts, decodes, threads), probe, facts, decodes, 1);
}

Forecast recoded_forecast(const Probe& probe, const RecodeProbe& recode, std::size_t i, const DataFacts& facts,
                          double decodes, std::uint32_t threads) {
  RowTime t = row_time(probe, facts, decodes, threads);
  const RecodedChunk &now = recode.codecs[0], &then = recode.codecs[i];
  if (i == 0 || now.decode_bytes_per_s <= 0 || then.decode_bytes_per_s <= 0)
    return forecast_of(t, probe, facts, decodes, 1);
  if (now.decode_bytes_per_s < kNoDecoding) {
    t.decode *= 1 - facts.leading_share * (1 - now.decode_bytes_per_s / then.decode_bytes_per_s);
  } else {  // there is no decoding yet
    const double by_all = probe.one.rows_per_s / std::max(probe.rows_per_s(threads), 1e-9);
    t.decode +=
        decodes * by_all * facts.leading_share * static_cast<double>(facts.sample_bytes) / then.decode_bytes_per_s;
  }
  const double stored_share = 1 - facts.leading_share * (1 - now.ratio / then.ratio);
  t.read *= stored_share;
  return forecast_of(t, probe, facts, decodes, stored_share);
}

std::string cache_setting(CacheAdvice::Kind kind) {
  return kind == CacheAdvice::Kind::kAllInMemory ? "ram" : kind == CacheAdvice::Kind::kDirectory ? "cache/" : "auto";
}

std::vector<double> forecast_epochs(const CacheAdvice& cache, double rate, double samples, std::size_t epochs) {
  using Kind = CacheAdvice::Kind;
  // What was asked for (cache='ram', a directory) is kept at once; what "auto" keeps comes little by little.
  const double share = cache.kind == Kind::kRecoded || cache.kind == Kind::kPart
                           ? KeepPolicy::kShare
                           : std::numeric_limits<double>::infinity();
  const double room = cache.kind == Kind::kNone ? 0 : cache.kept_share;
  const double decode = 1 / std::max(rate, 1e-9);
  std::vector<double> seconds;
  for (const KeepEpoch& e :
       forecast_keeping({decode, cache.keep_seconds_a_row, cache.hit_seconds_a_row}, 0, room, epochs, share))
    seconds.push_back(e.cost * samples);
  return seconds;
}

CacheAdvice over_epochs(const CacheAdvice& cache, double rest_share, double rate, double samples, std::size_t epochs) {
  if (cache.kind != CacheAdvice::Kind::kAllInMemory) return cache;
  CacheAdvice slowly = cache;
  slowly.kind = rest_share > 0 ? CacheAdvice::Kind::kPart : CacheAdvice::Kind::kNone;
  slowly.kept_share = std::min(1.0, rest_share);
  const auto total = [&](const CacheAdvice& one) {
    const std::vector<double> seconds = forecast_epochs(one, rate, samples, epochs);
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  };
  const double at_once = total(cache), little_by_little = total(slowly);
  if (at_once <= kClearly * little_by_little) return cache;
  slowly.later = samples / std::max(forecast_epochs(slowly, rate, samples, epochs).back(), 1e-9);
  slowly.reason = fmt::format(
      "decoding all rows first (ram) would not pay in {} epoch{}: {:.2g} s against {:.2g}; the cache fills "
      "little by little",
      epochs, plural(epochs), at_once, little_by_little);
  return slowly;
}

CacheAdvice choose_cache(const Probe& probe, const CodingProbe* coding, const DataFacts& facts, const Forecast& f,
                         std::uint32_t threads, CacheRoom room) {
  CacheAdvice choice;
  const double gather = kEngineShare * probe.gather_of(threads);
  const bool files_stay = facts.stored_bytes <= room.page_cache_bytes;
  const double without = files_stay ? f.warm : f.cold;
  const auto decoded = static_cast<double>(std::max<std::uint64_t>(facts.decoded_bytes, 1));
  choice.later = without;
  if (room.all_can_stay && facts.decoded_bytes <= room.room_bytes && gather > kWorthIt * without) {
    choice.kind = CacheAdvice::Kind::kAllInMemory, choice.kept_share = 1, choice.later = gather;
    choice.hit_seconds_a_row = 1 / gather;
    choice.reason = fmt::format("all decoded data ({}) fit beside the batches: nothing is decoded twice in a training",
                                format_bytes(facts.decoded_bytes));
    return choice;
  }
  // From the measurement that the loader itself makes.
  const double by_threads = probe.rows_per_s(threads) / std::max(probe.rows_per_s(1), 1e-9);
  const auto row_seconds = [&](double block_ns) {
    return block_ns * 1e-9 / static_cast<double>(std::max<std::uint64_t>(coding->rows, 1)) / by_threads;
  };
  for (const CodingTrial& trial : coding ? std::span(coding->trials) : std::span<const CodingTrial>()) {
    const double rate = kEngineShare / (row_seconds(trial.decode_ns) + 1 / std::max(gather, 1e-9));
    if (decoded * trial.coded_share * kCodedSlack > static_cast<double>(room.room_bytes) || rate < kWorthIt * without ||
        rate <= choice.later)
      continue;
    choice.kind = CacheAdvice::Kind::kRecoded, choice.kept_share = 1, choice.later = rate;
    choice.kept_bytes_share = trial.coded_share;
    choice.keep_seconds_a_row = row_seconds(trial.encode_ns);
    choice.hit_seconds_a_row = 1 / rate;
    choice.reason = fmt::format(
        "decoded data ({}) do not fit, but do if re-encoded as {} ({:.1f}x smaller), which decodes {:.1f} times as "
        "fast as the files",
        format_bytes(facts.decoded_bytes), to_string(trial.coding), 1 / trial.coded_share,
        coding->miss_ns / std::max(trial.decode_ns, 1.0));
  }
  if (choice.kind == CacheAdvice::Kind::kRecoded) return choice;
  const bool rows_stay = facts.decoded_bytes <= room.page_cache_bytes / 2;
  // Else its rows come a block at a time through the window, each block as often as it would be decoded.
  const double read_bytes = f.decodes * std::max(facts.decoded_bytes_a_sample(), 1.0);
  const double from_directory =
      kDirectoryShare *
      (rows_stay ? gather
                 : 1 / (1 / std::max(gather, 1e-9) + read_bytes / std::max(probe.reads.cold_bytes_per_s, 1.0)));
  const double directory_gain = rows_stay ? kWorthIt : 2 * kWorthIt;  // a disk's rate is less certain than memory's
  const double kept = std::min(1.0, static_cast<double>(room.rest_bytes) / decoded);
  const double part = gather > kWorthIt * without ? mixed_rate(kept, gather, without) : without;
  if (room.directory_fits && from_directory > directory_gain * std::max(without, part) &&
      f.warm_bottleneck != Bottleneck::kMoving) {
    choice.kind = CacheAdvice::Kind::kDirectory, choice.kept_share = 1, choice.later = from_directory;
    choice.hit_seconds_a_row = 1 / from_directory;
    choice.reason = fmt::format(
        "decoded data ({}) do not fit the budget; a directory of that size {} later epochs from "
        "decoding",
        format_bytes(facts.decoded_bytes),
        rows_stay ? "stays in the system's page cache and frees" : "on a disk like this one frees");
    return choice;
  }
  if (part > 1.03 * without) {
    choice.kind = CacheAdvice::Kind::kPart, choice.kept_share = kept, choice.later = part;
    choice.hit_seconds_a_row = 1 / gather;
    choice.reason =
        fmt::format("{:.0f} % of the decoded data fit beside the batches; a later epoch decodes the rest", 100 * kept);
    return choice;
  }
  choice.reason = gather <= kWorthIt * without
                      ? "rows come from the files nearly as fast as they would from memory: a cache would gain nothing"
                      : fmt::format("too little of the decoded data ({}) would fit", format_bytes(facts.decoded_bytes));
  return choice;
}

}  // namespace headrace
