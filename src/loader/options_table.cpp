#include "loader/options_table.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "dataset/refuse.h"
#include "loader/option_rules.h"

namespace headrace {
namespace {

using Kind = LoaderOption::Kind;
using Settings = LoaderSettings;
constexpr std::uint64_t kMostThreads = 4096;
/// On the way to a device: two are copied while the next is filled.
constexpr std::uint32_t kStagedBatches = 3;

Error unexpected(std::string_view expected, const std::string& text) {
  return refuse(fmt::format("must be {}, not {}", expected, text.empty() ? "''" : text));
}

Status read_number(const std::string& text, std::uint64_t least, std::uint64_t most, std::uint64_t& to) {
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto out_of_range = [&]() -> Error {
    return unexpected(most == std::numeric_limits<std::uint64_t>::max() ? fmt::format("at least {}", least)
                                                                        : fmt::format("{} to {}", least, most),
                      text);
  };
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range ||
      (error == std::errc() && stop == end && (value < least || value > most)))
    return out_of_range();
  if (text.starts_with('-') && text.find_first_not_of("0123456789", 1) == std::string::npos) return out_of_range();
  if (error != std::errc() || stop != end) return unexpected("a whole number", text);
  to = value;
  return {};
}

Status read_switch(const std::string& text, bool& to) {
  if (text != "true" && text != "false") return unexpected("true or false", text);
  to = text == "true";
  return {};
}

/// Bytes as text, above 0.
Status read_bytes(const std::string& text, std::uint64_t& to) {
  try {
    to = parse_bytes(text);
  } catch (const Error& error) {
    return error;
  }
  return to > 0 ? Status() : Status(unexpected("more than 0 bytes", text));
}

/// "1GiB", or "64x4": streams x blocks of each pool.
Status read_shape(const std::string& text, ShuffleShape& to) {
  ShuffleShape shape;
  const char* const end = text.data() + text.size();
  const auto streams = std::from_chars(text.data(), end, shape.streams);
  if (streams.ec == std::errc() && streams.ptr != end && *streams.ptr == 'x') {
    const auto blocks = std::from_chars(streams.ptr + 1, end, shape.pool_blocks);
    if (blocks.ec != std::errc() || blocks.ptr != end || shape.streams == 0 || shape.pool_blocks == 0)
      return unexpected("a shape such as 64x4 (streams x blocks of each pool)", text);
    to = shape;
    return {};
  }
  shape = {};
  HEADRACE_TRY(read_bytes(text, shape.bytes));
  to = shape;
  return {};
}

/// "cpu", "cuda", "cuda:1". Whether torch has it, torch says.
Status read_device(const std::string& text, Settings& to) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const bool is_name = colon > 0 && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") >= colon;
  const bool is_number = colon == text.size() || (colon + 1 < text.size() &&
                                                  text.find_first_not_of("0123456789", colon + 1) == std::string::npos);
  if (!is_name || !is_number) return unexpected("cpu, or a device of torch such as cuda or cuda:1", text);
  to.device = text;
  to.options.staged_batches = text == "cpu" ? 0 : kStagedBatches;
  return {};
}

std::string shape_text(const ShuffleShape& shape) {
  if (shape.bytes > 0) return fmt::format("{}", shape.bytes);
  return shape.streams > 0 ? fmt::format("{}x{}", shape.streams, shape.pool_blocks) : "";
}

Status read_shuffle(const std::string& text, Shuffle& to) {
  if (text == "true" || text == "block")
    to = Shuffle::kBlock;
  else if (text == "exact")
    to = Shuffle::kExact;
  else if (text == "false")
    to = Shuffle::kNone;
  else
    return unexpected("true, false, block or exact", text);
  return {};
}

Status read_tail(const std::string& text, std::optional<Tail>& to) {
  if (text == "partial")
    to = Tail::kPartial;
  else if (text == "drop")
    to = Tail::kDrop;
  else if (text == "pad")
    to = Tail::kPad;
  else
    return unexpected("partial, drop or pad", text);
  return {};
}

Status read_cache(const std::string& text, CacheChoice& to) {
  try {
    to = CacheChoice::parse(text);
  } catch (const Error& error) {
    return error;
  }
  return {};
}

std::string cache_text(const CacheChoice& cache) {
  switch (cache.mode) {
    case CacheChoice::kAuto:
      return "auto";
    case CacheChoice::kNone:
      return "none";
    case CacheChoice::kRam:
      return "ram";
    case CacheChoice::kDirectory:
      return cache.directory;
  }
  return "";
}

Status read_seconds(const std::string& text, std::chrono::nanoseconds& to) {
  constexpr double kMostSeconds = 1e9;
  const char* const end = text.data() + text.size();
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || stop != end || !(seconds > 0) || seconds > kMostSeconds)
    return unexpected("a positive number of seconds", text).with_hint("Leave it out to wait without limit.");
  // To the nearest, so that what is written of it is the same again; and never to 0, which would be no limit.
  to = std::chrono::nanoseconds(std::max<std::int64_t>(std::llround(seconds * 1e9), 1));
  return {};
}

Status read_real(const std::string& text, double& to) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, to);
  return error != std::errc() || stop != end ? Status(unexpected("a number", text)) : Status();
}

/// One of two words, or the one that there is so far.
Status read_word(const std::string& text, std::initializer_list<std::string_view> words, std::string& to) {
  if (std::find(words.begin(), words.end(), text) == words.end())
    return unexpected(
        words.size() == 1 ? std::string(*words.begin()) : fmt::format("{} or {}", *words.begin(), *(words.begin() + 1)),
        text);
  to = text;
  return {};
}

std::string tokens_text(const std::optional<ByTokens>& choice) {
  if (!choice) return "";
  const ByTokens usual;
  std::string text = fmt::format("tokens={}", choice->tokens);
  if (choice->max_samples != usual.max_samples) text += fmt::format(",max_samples={}", choice->max_samples);
  if (choice->too_long != usual.too_long) text += ",too_long=alone";
  if (choice->lanes != usual.lanes) text += fmt::format(",lanes={}", choice->lanes);
  if (choice->lookahead != usual.lookahead) text += fmt::format(",lookahead={}", choice->lookahead);
  return text;
}

/// "tokens=32768,too_long=alone": what tokens_text() writes, in any order.
Status read_tokens(const std::string& text, std::optional<ByTokens>& to) {
  ByTokens choice;
  std::uint64_t lanes = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals), value = equals < word.size() ? word.substr(equals + 1) : "";
    std::uint64_t* const number = key == "tokens"        ? &choice.tokens
                                  : key == "max_samples" ? &choice.max_samples
                                  : key == "lanes"       ? &lanes
                                  : key == "lookahead"   ? &choice.lookahead
                                                         : nullptr;
    if (number) {
      const Status read = read_number(value, 1, std::numeric_limits<std::uint32_t>::max(), *number);
      if (!read.ok()) return refuse(fmt::format("{} {}", key, read.error().message()), read.error().hint());
    } else if (key == "too_long" && (value == "error" || value == "alone")) {
      choice.too_long = value == "alone" ? ByTokens::kAlone : ByTokens::kError;
    } else {
      return unexpected("a budget such as tokens=32768,max_samples=512,too_long=alone,lanes=8,lookahead=64", text);
    }
    begin = end + 1;
  }
  choice.lanes = static_cast<std::uint32_t>(lanes);
  to = choice;
  return {};
}

GroupBy& group_of(Settings& settings) {
  if (!settings.options.group_by) settings.options.group_by.emplace();
  return *settings.options.group_by;
}

std::string number_text(std::uint64_t number) {
  return number == 0 ? "" : fmt::format("{}", number);
}
template <class T>
std::string number_text(const std::optional<T>& number) {
  return number ? fmt::format("{}", *number) : "";
}
std::string switch_text(bool on) {
  return on ? "true" : "false";
}

Status set_uint32(const std::string& text, std::uint64_t least, std::optional<std::uint32_t>& to) {
  std::uint64_t value = 0;
  HEADRACE_TRY(read_number(text, least, std::numeric_limits<std::uint32_t>::max(), value));
  to = static_cast<std::uint32_t>(value);
  return {};
}

constexpr std::uint64_t kMostNumber = std::numeric_limits<std::uint64_t>::max();

constexpr std::array kOptions = {
    LoaderOption{
        .name = "batch_size",
        .kind = Kind::kCount,
        .expected = "a whole number, at least 1",
        .fallback = "None",
        .doc = "Samples per batch, on each rank; or give global_batch_size",
        .set = [](Settings& s, const std::string& t) { return read_number(t, 1, kMostNumber, s.options.batch_size); },
        .get = [](const Settings& s) { return number_text(s.options.batch_size); }},
    LoaderOption{
        .name = "shuffle",
        .expected = "true, false, block or exact",
        .fallback = "False",
        .doc =
            "Order: true or block (mixed well, each block decoded once), exact (one permutation of all rows), or false",
        .set = [](Settings& s, const std::string& t) { return read_shuffle(t, s.options.shuffle); },
        .get =
            [](const Settings& s) {
              Shuffle::Mode mode = s.options.shuffle.mode();
              if (s.options.group_by && s.options.group_by->shuffle) mode = Shuffle::kBlock;
              return std::string(mode == Shuffle::kNone ? "false" : mode == Shuffle::kBlock ? "block" : "exact");
            }},
    LoaderOption{.name = "shuffle_buffer",
                 .expected = "bytes (1GiB), or a shape (64x4: streams x blocks of each pool)",
                 .fallback = "None",
                 .doc = "How much data the block shuffle mixes at a time; default: from the data and the batch",
                 .set = [](Settings& s, const std::string& t) { return read_shape(t, s.options.shuffle_buffer); },
                 .get = [](const Settings& s) { return shape_text(s.options.shuffle_buffer); }},
    LoaderOption{.name = "sampler",
                 .expected = "Weighted, Balanced, or an iterable of row numbers",
                 .fallback = "None",
                 .doc = "Custom order: weights, balanced classes, or an iterable of row numbers",
                 .where = LoaderOption::kCodeOnly},
    LoaderOption{.name = "batch_sampler",
                 .expected = "an iterable of lists of row numbers",
                 .fallback = "None",
                 .doc = "Custom order, batch by batch, each of its own size; it is the rank's own, as in torch",
                 .where = LoaderOption::kCodeOnly},
    LoaderOption{
        .name = "batch",
        .expected = "a budget such as tokens=32768",
        .fallback = "None",
        .doc = "Batches of as many samples as a budget of rows holds, for ragged samples, instead of batch_size",
        .set = [](Settings& s, const std::string& t) { return read_tokens(t, s.options.by_tokens); },
        .get = [](const Settings& s) { return tokens_text(s.options.by_tokens); }},
    LoaderOption{
        .name = "group_by",
        .kind = Kind::kText,
        .expected = "file, a field with one whole number a row, or the number of an axis",
        .fallback = "None",
        .doc = "Batches of whole groups (files, events, recordings) instead of batch_size; shuffle shuffles them",
        .set =
            [](Settings& s, const std::string& t) {
              group_of(s).by = t;
              return Status();
            },
        .get = [](const Settings& s) { return s.options.group_by ? s.options.group_by->by : std::string(); }},
    LoaderOption{
        .name = "max_items",
        .kind = Kind::kCount,
        .expected = "a whole number, at least 1",
        .fallback = "None",
        .doc = "With group_by: most samples of a batch, which holds whole groups; default 65536",
        .set = [](Settings& s, const std::string& t) { return read_number(t, 1, kMostNumber, group_of(s).max_items); },
        .get =
            [](const Settings& s) {
              return s.options.group_by && s.options.group_by->max_items != GroupBy{}.max_items
                         ? std::to_string(s.options.group_by->max_items)
                         : std::string();
            }},
    LoaderOption{
        .name = "max_groups",
        .kind = Kind::kCount,
        .expected = "a whole number, at least 1",
        .fallback = "None",
        .doc = "With group_by: most groups of a batch; default: as many as fit into max_items",
        .set = [](Settings& s, const std::string& t) { return read_number(t, 1, kMostNumber, group_of(s).max_groups); },
        .get = [](const Settings& s) { return s.options.group_by ? number_text(s.options.group_by->max_groups) : ""; }},
    LoaderOption{.name = "lookahead",
                 .expected = "a whole number, at least 1",
                 .fallback = "None",
                 .doc = "For a sampler that learns from the batches: how many batches ahead it is asked",
                 .where = LoaderOption::kCodeOnly},
    LoaderOption{
        .name = "global_batch_size",
        .kind = Kind::kCount,
        .expected = "a whole number, at least 1",
        .fallback = "None",
        .doc = "Samples per step over all ranks, instead of batch_size",
        .set = [](Settings& s,
                  const std::string& t) { return read_number(t, 1, kMostNumber, s.options.global_batch_size); },
        .get = [](const Settings& s) { return number_text(s.options.global_batch_size); }},
    LoaderOption{.name = "drop_last",
                 .kind = Kind::kSwitch,
                 .expected = "true or false",
                 .fallback = "False",
                 .doc = "Drop the samples that do not fill the last batch; the same as tail: drop",
                 .set = [](Settings& s, const std::string& t) -> Status {
                   bool on = false;
                   HEADRACE_TRY(read_switch(t, on));
                   s.drop_last = on;
                   return {};
                 },
                 .get = [](const Settings&) { return std::string("false"); }},  // it is said by tail
    LoaderOption{.name = "tail",
                 .expected = "partial, drop or pad",
                 .fallback = "None",
                 .doc = "Samples that do not fill the last batch: partial (default), drop, or pad (fills it up)",
                 .set = [](Settings& s, const std::string& t) { return read_tail(t, s.tail); },
                 .get =
                     [](const Settings& s) {
                       const Tail tail = s.options.tail;
                       return std::string(tail == Tail::kDrop ? "drop" : tail == Tail::kPad ? "pad" : "partial");
                     }},
    LoaderOption{
        .name = "seed",
        .kind = Kind::kCount,
        .expected = "a whole number",
        .fallback = "0",
        .doc = "Seed of the order",
        .set = [](Settings& s, const std::string& t) { return read_number(t, 0, kMostNumber, s.options.seed); },
        .get = [](const Settings& s) { return fmt::format("{}", s.options.seed); }},
    LoaderOption{.name = "rank",
                 .kind = Kind::kCount,
                 .expected = "a whole number below world_size",
                 .fallback = "None",
                 .doc = "Data-parallel rank; default: from the launcher's environment variables",
                 .set = [](Settings& s, const std::string& t) { return set_uint32(t, 0, s.options.rank); },
                 .get = [](const Settings& s) { return number_text(s.options.rank); }},
    LoaderOption{.name = "world_size",
                 .kind = Kind::kCount,
                 .expected = "a whole number, at least 1",
                 .fallback = "None",
                 .doc = "Number of data-parallel ranks",
                 .set = [](Settings& s, const std::string& t) { return set_uint32(t, 0, s.options.world_size); },
                 .get = [](const Settings& s) { return number_text(s.options.world_size); }},
    LoaderOption{.name = "memory",
                 .expected = "bytes (8GiB, 8GB)",
                 .fallback = "None",
                 .doc = "Most memory to use, for example 8GiB; default: 60 % of what is free",
                 .set = [](Settings& s, const std::string& t) { return read_bytes(t, s.options.memory); },
                 .get = [](const Settings& s) { return number_text(s.options.memory); }},
    LoaderOption{.name = "threads",
                 .kind = Kind::kCount,
                 .expected = "1 to 4096",
                 .fallback = "None",
                 .doc = "Decode threads; default: this process's share of the processors",
                 .set = [](Settings& s, const std::string& t) -> Status {
                   std::uint64_t threads = 0;
                   HEADRACE_TRY(read_number(t, 1, kMostThreads, threads));
                   s.options.threads = static_cast<std::uint32_t>(threads);
                   return {};
                 },
                 .get = [](const Settings& s) { return number_text(s.options.threads); }},
    LoaderOption{.name = "cache",
                 .expected = "auto, none, ram or a directory",
                 .fallback = "'auto'",
                 .doc = "Where decoded data is kept between epochs: auto, none, ram, or a DIRECTORY",
                 .set = [](Settings& s, const std::string& t) { return read_cache(t, s.options.cache); },
                 .get = [](const Settings& s) { return cache_text(s.options.cache); }},
    LoaderOption{.name = "share",
                 .expected = "host",
                 .fallback = "None",
                 .doc = "host: processes on this host that load the same data share one cache",
                 .set = [](Settings& s, const std::string& t) -> Status {
                   if (t != "host") return unexpected("host", t);
                   s.options.share = Share::kHost;
                   return {};
                 },
                 .get = [](const Settings& s) { return std::string(s.options.share == Share::kHost ? "host" : ""); }},
    LoaderOption{.name = "framework",
                 .expected = "numpy or torch",
                 .fallback = "'numpy'",
                 .doc = "What a batch's arrays are in Python: numpy, or torch",
                 .where = LoaderOption::kRunFile,
                 .set =
                     [](Settings& s, const std::string& t) {
                       return read_word(t, {"numpy", "torch"}, s.framework);
                     },
                 .get = [](const Settings& s) { return s.framework; }},
    LoaderOption{.name = "device",
                 .expected = "cpu, or with framework torch a device of torch",
                 .fallback = "'cpu'",
                 .doc = "Where batches are delivered in Python: cpu, or a device of torch such as cuda",
                 .where = LoaderOption::kRunFile,
                 .set = [](Settings& s, const std::string& t) { return read_device(t, s); },
                 .get = [](const Settings& s) { return s.device; }},
    LoaderOption{.name = "batch_format",
                 .expected = "dict or tuple",
                 .fallback = "'dict'",
                 .doc = "What a batch is in Python: a dict, or a tuple in field order",
                 .where = LoaderOption::kRunFile,
                 .set =
                     [](Settings& s, const std::string& t) {
                       return read_word(t, {"dict", "tuple"}, s.batch_format);
                     },
                 .get = [](const Settings& s) { return s.batch_format; }},
    LoaderOption{.name = "layout",
                 .expected = "ragged or padded",
                 .fallback = "'ragged'",
                 .doc = "Samples of different length: ragged (values and offsets), or padded to the longest of a batch",
                 .set = [](Settings& s, const std::string& t) -> Status {
                   std::string layout;
                   HEADRACE_TRY(read_word(t, {"ragged", "padded"}, layout));
                   s.options.layout = layout == "padded" ? BatchLayout::kPadded : BatchLayout::kRagged;
                   return {};
                 },
                 .get =
                     [](const Settings& s) {
                       return std::string(s.options.layout == BatchLayout::kPadded ? "padded" : "ragged");
                     }},
    LoaderOption{.name = "fill",
                 .kind = Kind::kNumber,
                 .expected = "a number",
                 .fallback = "0",
                 .doc = "With layout padded: what samples are filled up with",
                 .set = [](Settings& s, const std::string& t) { return read_real(t, s.options.fill); },
                 .get = [](const Settings& s) { return fmt::format("{}", s.options.fill); }},
    LoaderOption{.name = "provenance",
                 .kind = Kind::kSwitch,
                 .expected = "true or false",
                 .fallback = "False",
                 .doc = "Add the field _rows, which says where each row came from",
                 .set = [](Settings& s, const std::string& t) { return read_switch(t, s.options.provenance); },
                 .get = [](const Settings& s) { return switch_text(s.options.provenance); }},
    LoaderOption{.name = "on_error",
                 .expected = "raise",
                 .fallback = "'raise'",
                 .doc = "What to do on damaged data: raise",
                 .where = LoaderOption::kRunFile,
                 .set =
                     [](Settings&, const std::string& t) {
                       std::string ignored;
                       return read_word(t, {"raise"}, ignored);
                     },
                 .get = [](const Settings&) { return std::string("raise"); }},
    LoaderOption{.name = "timeout",
                 .kind = Kind::kSeconds,
                 .expected = "a positive number of seconds",
                 .fallback = "None",
                 .doc = "Longest wait for one batch, in seconds; default: no limit",
                 .set = [](Settings& s, const std::string& t) { return read_seconds(t, s.options.timeout); },
                 .get =
                     [](const Settings& s) {
                       const double seconds = std::chrono::duration<double>(s.options.timeout).count();
                       return seconds > 0 ? fmt::format("{}", seconds) : "";
                     }},
};

}  // namespace

std::span<const LoaderOption> loader_options() {
  return kOptions;
}

const LoaderOption* find_loader_option(std::string_view name) {
  const auto found =
      std::find_if(kOptions.begin(), kOptions.end(), [&](const LoaderOption& o) { return o.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

bool is_given(const LoaderOption& option, const LoaderSettings& settings) {
  return option.get != nullptr && option.get(settings) != option.get({});
}

Status settle(LoaderSettings& settings) {
  LoaderOptions& options = settings.options;
  if (options.group_by && options.shuffle.mode() == Shuffle::kBlock) {  // groups are shuffled, whole
    options.group_by->shuffle = true;
    options.shuffle = false;
  }
  if (settings.device != "cpu" && settings.framework != "torch")
    return refuse(
        fmt::format("device={} takes tensors of torch, and framework is {}", settings.device, settings.framework),
        "Give framework=\"torch\" with it. JAX: headrace.jax copies to JAX's devices.");
  if (settings.drop_last && settings.tail && *settings.drop_last != (*settings.tail == Tail::kDrop))
    return refuse("drop_last and tail contradict each other", "Give one of them.");
  HEADRACE_TRY(check_tail(options, settings.tail || settings.drop_last.value_or(false)));
  if (settings.tail)
    options.tail = *settings.tail;
  else if (settings.drop_last)
    options.tail = *settings.drop_last ? Tail::kDrop : Tail::kPartial;
  return check_options(options);
}

}  // namespace headrace
