// From what was measured on a few blocks to samples a second of a whole epoch. Arithmetic only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/plan/coding_probe.h"
#include "loader/plan/engine_plan.h"
#include "tools/advise/probe.h"
#include "tools/advise/recode_probe.h"

namespace headrace {

/// What the forecast needs to know of the data.
struct DataFacts {
  std::uint64_t rows = 0, epoch_samples = 0, sample_bytes = 0;
  std::uint64_t decoded_bytes = 0, stored_bytes = 0;
  double chunked_share = 1;  ///< Share of the decoded bytes that can only be had by decoding a chunk.
  double leading_share = 1;  ///< Share of the decoded bytes that lie in the array that the recoding was measured on.
  bool slow_path = false;    ///< Some array is read or converted by its format's library, one call at a time.
  bool is_mapped = false;    ///< Samples are made of rows, or of cells.
  bool has_cells = false;    ///< Samples are patches of volumes, which decode by cells.
  bool varies = false;       ///< Samples differ in length: `sample_bytes` is their mean.
  bool redraws = false;      ///< An epoch draws them, and may ask for a unit any number of times.
  std::string codecs;        ///< "gzip-4 / none".
  /// Return what an epoch's share of all decoded data is, for a sample.
  [[nodiscard]] double decoded_bytes_a_sample() const {
    return static_cast<double>(decoded_bytes) / static_cast<double>(epoch_samples > 0 ? epoch_samples : 1);
  }
};
DataFacts facts_of(const Dataset& dataset, const EnginePlan& plan);

enum class Bottleneck : std::uint8_t { kDecoding, kReading, kMoving, kDecodingAgain, kOneAtATime };

struct Forecast {
  double warm = 0;  ///< Samples a second while the files lie in the page cache.
  double cold = 0;  ///< While they have to come from the disk.
  double decodes = 1;
  // Samples a second if nothing else had to be done:
  double decode_limit = 0, cold_read_limit = 0, warm_read_limit = 0, move_limit = 0;
  Bottleneck warm_bottleneck = Bottleneck::kDecoding, cold_bottleneck = Bottleneck::kDecoding;
};
/// \param threads  That decode.
Forecast forecast(const Probe& probe, const DataFacts& facts, double decodes, std::uint32_t threads);

/// Where later epochs' rows come from.
struct CacheAdvice {
  enum class Kind : std::uint8_t { kAllInMemory, kRecoded, kDirectory, kPart, kNone };
  Kind kind = Kind::kNone;
  double kept_share = 0;          ///< Share of the data, decoded or recoded, that later epochs find.
  double kept_bytes_share = 1;    ///< Bytes kept over decoded bytes, of recoded data.
  double later = 0;               ///< Samples a second in later epochs.
  double keep_seconds_a_row = 0;  ///< To keep a row: fresh memory, encoding.
  double hit_seconds_a_row = 0;   ///< To deliver a row that is kept.
  std::string reason;
};
/// Memory that could keep rows.
struct CacheRoom {
  std::uint64_t room_bytes = 0;        ///< Part of the budget, beside a short window.
  std::uint64_t rest_bytes = 0;        ///< Part of the budget, beside a whole window.
  std::uint64_t page_cache_bytes = 0;  ///< That the system has for files.
  bool directory_fits = true;          ///< The budget has room to write a cache directory.
  bool all_can_stay = true;            ///< A loader of this kind can keep all of it in memory.
};
/// \param coding  What re-encoding would make of the blocks; null: not known.
CacheAdvice choose_cache(const Probe& probe, const CodingProbe* coding, const DataFacts& facts,
                         const Forecast& forecast, std::uint32_t threads, CacheRoom room);
/// Return the seconds of each of the first `epochs` epochs, of `samples` each. \param rate  Samples a second from the
/// files, of epochs that find nothing kept.
std::vector<double> forecast_epochs(const CacheAdvice& cache, double rate, double samples, std::size_t epochs);
/// Return the cache, or the same rows kept little by little ("auto") where decoding all of them first ("ram") takes
/// longer in so many epochs. \param rest_share  Share of the data that fits beside a whole window.
CacheAdvice over_epochs(const CacheAdvice& cache, double rest_share, double rate, double samples, std::size_t epochs);
/// Return "ram", "cache/", "auto": what Loader(cache=) takes.
std::string cache_setting(CacheAdvice::Kind kind);

/// As forecast(), if the leading array were written with codec `i` of the recoding.
Forecast recoded_forecast(const Probe& probe, const RecodeProbe& recode, std::size_t i, const DataFacts& facts,
                          double decodes, std::uint32_t threads);

}  // namespace headrace
