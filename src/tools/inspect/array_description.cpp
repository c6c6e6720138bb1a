#include "tools/inspect/array_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/text/number_text.h"
#include "catalog/packing.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

// Where advice begins. A chunk is decoded by one thread at once: a few MiB stay in the core's cache; from about 64 MiB
// the decode threads' memory shows in any budget.
constexpr std::uint64_t kLargeChunkBytes = mebibytes(64);
constexpr std::uint64_t kGoodChunkBytes = mebibytes(2);
constexpr std::uint64_t kTinyChunkBytes = 16 << 10;
constexpr std::uint64_t kManyChunks = 10000;
constexpr std::uint64_t kCostlyRowBytes = 64 << 10;  // to decode for one row

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

std::string names(const std::vector<const ArrayInfo*>& arrays) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(arrays.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + shorten(arrays[i]->path, 40);
  if (arrays.size() > kShown) text += fmt::format(" and {} more", arrays.size() - kShown);
  return text;
}

/// The command that writes chunks of about 2 MiB.
std::string better_chunk(const ArrayInfo& array, std::uint64_t row_bytes) {
  const std::uint64_t rows = std::clamp<std::uint64_t>(kGoodChunkBytes / std::max<std::uint64_t>(row_bytes, 1), 1,
                                                       std::max<std::uint64_t>(array.rows(), 1));
  return fmt::format("headrace rewrite FILE --to fast/ --chunk-rows {}", rows);
}

std::string chunk_words(const ArrayInfo& array, std::uint64_t chunk_bytes) {
  if (array.layout != Layout::kChunked) return layout_name(array.layout);
  const std::uint64_t rows = array.chunk_rows();
  if (!array.chunk_ends.empty())
    return fmt::format("{} {} at most ({} row group{}, decoded page by page)", group_digits(rows),
                       array.list.empty() ? "rows" : "values of lists", group_digits(array.chunk_ends.size()),
                       plural(array.chunk_ends.size()));
  return fmt::format("{} row{}, {}", group_digits(rows), plural(rows), format_bytes(chunk_bytes));
}

std::vector<std::string> what_to_know(const ArrayInfo& array, const ArrayDescription& described) {
  std::vector<std::string> out;
  const bool chunked = array.layout == Layout::kChunked && array.chunk_ends.empty();
  const bool is_ours = array.read_path == ReadPath::kNative || array.read_path == ReadPath::kConverted;
  if (array.read_path == ReadPath::kConverted)
    out.push_back(fmt::format("its numbers are converted one thread at a time: {}", array.reason));
  if (array.read_path == ReadPath::kFallback)
    out.push_back(fmt::format("read by {}, one chunk at a time: {}", array.library, array.reason));
  if (chunked && described.chunk_bytes > kLargeChunkBytes)
    out.push_back(fmt::format("chunks of {} rows decode to {} at once, for every thread that decodes; smaller ones: {}",
                              group_digits(array.chunk_rows()), format_bytes(described.chunk_bytes),
                              better_chunk(array, described.row_bytes)));
  if (chunked && is_ours && described.random_row_bytes >= kCostlyRowBytes &&
      described.random_row_bytes / 4 >= described.row_bytes)
    out.push_back(fmt::format("one random row decodes {} ({} rows) to use {}", format_bytes(described.random_row_bytes),
                              group_digits(array.chunk_rows()), format_bytes(described.row_bytes)));
  if (described.chunks_across > 1)
    out.push_back(fmt::format("a row is spread over {} chunks", group_digits(described.chunks_across)));
  if (chunked && described.chunk_bytes < kTinyChunkBytes && described.chunks >= kManyChunks)
    out.push_back(fmt::format("{} chunks of {}: handling them costs more than decoding; larger ones: {}",
                              group_digits(described.chunks), format_bytes(described.chunk_bytes),
                              better_chunk(array, described.row_bytes)));
  if (array.is_record)
    out.push_back(fmt::format("records of {} B: each member is a field of its own ({}.{}); choosing one reads them all",
                              array.record_bytes, array.path, array.columns.empty() ? "" : array.columns[0].name));
  for (const LeftOut& member : array.left_out)
    out.push_back(fmt::format("its member {} is no field: {}", member.path, member.reason));
  if (const auto packing = packing_of(array.attributes))
    out.push_back(fmt::format("its values are packed, as its attributes say; ds.map({}) unpacks them",
                              unpacking_text(array.path, *packing)));
  if (!array.notice.empty()) out.push_back(array.notice);
  if (chunked && array.stored_bytes == 0 && described.decoded_bytes > 0)
    out.push_back("nothing was ever written: every value is the fill value");
  return out;
}

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string layout_name(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kChunked:
      return "chunked";
    case Layout::kCompact:
      return "compact";
    case Layout::kVirtual:
      return "virtual";
    case Layout::kExternal:
      return "external";
  }
  return "unknown";
}

ArrayDescription describe_array(const ArrayInfo& array) {
  ArrayDescription described;
  described.row_bytes = array.record_bytes;
  for (std::size_t d = 1; d < array.shape.size(); ++d) described.row_bytes = times(described.row_bytes, array.shape[d]);
  described.decoded_bytes = times(described.row_bytes, array.rows());
  described.random_row_bytes = described.row_bytes;
  if (array.layout == Layout::kChunked) {
    described.chunk_bytes = array.record_bytes;
    described.chunks = 1;
    for (std::size_t d = 0; d < array.chunk_shape.size() && d < array.shape.size(); ++d) {
      const std::uint64_t side = std::max<std::uint64_t>(array.chunk_shape[d], 1);
      const std::uint64_t along = array.shape[d] / side + (array.shape[d] % side != 0 ? 1 : 0);
      described.chunk_bytes = times(described.chunk_bytes, side);
      described.chunks = times(described.chunks, along);
      if (d > 0) described.chunks_across = times(described.chunks_across, along);
    }
    described.random_row_bytes = times(described.chunk_bytes, described.chunks_across);
  }
  if (array.stored_bytes > 0)
    described.ratio = static_cast<double>(described.decoded_bytes) / static_cast<double>(array.stored_bytes);
  if (array.columns.empty()) {
    described.type = "?";
  } else {
    described.type =
        array.is_record ? fmt::format("record of {}", array.columns.size()) : array.columns.front().dtype.name();
  }
  described.chunk = chunk_words(array, described.chunk_bytes);
  described.read_by = array.read_path == ReadPath::kConverted  ? "native, converted by " + array.library
                      : array.read_path == ReadPath::kFallback ? array.library + ", 1 thread"
                                                               : array.read_path_name();
  described.care = what_to_know(array, described);
  return described;
}

FileDescription describe_arrays(const std::vector<ArrayInfo>& arrays,
                                const std::map<std::string, std::string>& remedies) {
  FileDescription file;
  std::vector<const ArrayInfo*> decoded, copied, addressable, costly;
  std::map<std::string, std::vector<const ArrayInfo*>> refused;  // by the reason, which several may share
  for (const ArrayInfo& array : arrays) {
    if (array.read_path == ReadPath::kUnsupported) {
      refused[array.reason].push_back(&array);
    } else if (array.read_path == ReadPath::kNative && array.rows() > 0) {
      if (array.layout != Layout::kChunked) {
        addressable.push_back(&array);
      } else {
        (array.filters.empty() ? copied : decoded).push_back(&array);
      }
    }
  }
  for (const auto& [reason, some] : refused) {
    const auto remedy = remedies.find(some.front()->path);  // one reason, one remedy
    file.refused.push_back(
        fmt::format("{}: {}{}", names(some), reason, remedy == remedies.end() ? "" : ". " + remedy->second));
  }
  if (!decoded.empty())
    file.fast.push_back("epochs in order or shuffled: every thread decodes, each chunk once an epoch: " +
                        names(decoded));
  if (!copied.empty())
    file.fast.push_back("epochs in order or shuffled: no filter, so chunks are copied and not decoded: " +
                        names(copied));
  if (!addressable.empty())
    file.fast.push_back("any rows in any order: rows lie one after the other, so a row costs what it holds: " +
                        names(addressable));
  std::vector<std::string> others;
  std::vector<std::string> notices;  // what is wrong, before what is slow
  for (const ArrayInfo& array : arrays) {
    if (array.read_path == ReadPath::kUnsupported) continue;
    for (const std::string& sentence : describe_array(array).care)
      (sentence == array.notice                 ? notices
       : sentence.starts_with("one random row") ? file.care
                                                : others)
          .push_back(array.path + ": " + sentence);
  }
  if (!file.care.empty())
    file.care.push_back(
        "So read slices or batches of rows rather than single ones; hr.Loader(shuffle=True) uses every row of a chunk "
        "it decodes.");
  file.care.insert(file.care.end(), others.begin(), others.end());
  file.care.insert(file.care.begin(), notices.begin(), notices.end());
  return file;
}

}  // namespace headrace
