// Advice in sentences, for users that have only ever copied settings.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>

#include "base/text/number_text.h"
#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "loader/options/loader_settings.h"
#include "tools/advise/advice.h"
#include "tools/runs/run_file_text.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

std::string rate(double per_second) {  // three digits are more than was measured
  if (!(per_second > 0)) return "0";
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(per_second)) - 2));
  return group_digits(static_cast<std::uint64_t>(std::round(per_second / unit) * unit));
}

/// What decodes together.
std::string_view unit_word(const Advice& a) {
  return a.data.has_cells ? "chunk" : "block";
}

std::string_view moved_word(const Advice& a) {
  return a.data.has_cells ? "patches" : "rows";
}

/// What is decoded several times however long the window is.
std::string shared_units_text(const Advice& a) {
  return fmt::format("each {} {:.1f} times an epoch, as samples that come at different times have parts in it",
                     unit_word(a), a.advised.forecast.decodes);
}

std::string why(Bottleneck b, const Advice& a) {
  switch (b) {
    case Bottleneck::kDecoding:
      return "decoding " + a.data.codecs;
    case Bottleneck::kReading:
      return "reading the files";
    case Bottleneck::kMoving:
      return fmt::format("copying {} into batches (memory bandwidth)", moved_word(a));
    case Bottleneck::kDecodingAgain:
      return a.advised.has_whole_window ? fmt::format("decoding {}, {}", a.data.codecs, shared_units_text(a))
                                        : fmt::format("too little memory: each {} is decoded {:.1f} times an epoch",
                                                      unit_word(a), a.advised.forecast.decodes);
    case Bottleneck::kOneAtATime:
      return "fields that are decoded or converted one at a time whatever the threads (headrace inspect names them)";
  }
  return "";
}

/// How each block would be decoded once where the advised memory is too small for the order.
std::string once_text(const Advice& a) {
  const SmallBudget& small = *a.small;
  const std::string gain =
      fmt::format("about {} samples/s instead of {}", rate(a.once().warm), rate(a.advised.forecast.warm));
  const std::string memory =
      small.memory_bytes ? fmt::format("memory=\"{}\" does it with the same batches", size_setting(small.memory_bytes))
                         : "";
  if (small.fitting)
    return fmt::format("{} would decode each block once in this memory: {}. {}{}", small.fitting->setting, gain,
                       mixing_text(small), memory.empty() ? "" : "; " + memory);
  std::string text = fmt::format("Each block is decoded {:.1f} times; once would be {}", small.decodes, gain);
  if (small.is_shuffle) text += ": " + no_shuffle_text(small);
  return memory.empty() ? text : text + "; " + memory;
}

bool worth_rewriting(const Advice& a) {
  const Forecast then = a.recoded(a.best_recoding());
  return then.warm > 1.15 * a.advised.forecast.warm ||
         (then.cold > 1.5 * a.advised.forecast.cold && then.warm > 0.8 * a.advised.forecast.warm);
}

/// A word that a shell takes as it is.
std::string quoted_word(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// What open() takes, where that is the source; else null.
const FilesNode* files_of(const RunConfig& run) {
  return options_of<FilesNode>(source_of(*run.data));
}

std::string fields_words(const RunConfig& run) {
  std::vector<std::string> words;
  const FilesNode* const files = files_of(run);
  for (const FieldChoice& field : files ? files->options.fields : std::vector<FieldChoice>())
    words.push_back(field.path.empty() || field.path == field.name ? field.name : field.name + "=" + field.path);
  return words.empty() ? "" : " --fields " + quoted_word(fmt::format("{}", fmt::join(words, ",")));
}

/// Options of the loader that differ from what a command has without them, but for those that are advised.
std::string loader_words(const RunConfig& run, const RunConfig& plain) {
  const LoaderSettings now = loader_settings(run), before = loader_settings(plain);
  std::string out;
  for (const Member& option : spec<LoaderSettings>().members()) {
    const bool advised = option.name == "threads" || option.name == "memory" || option.name == "cache";
    if (advised || !option.is_on_command_line) continue;
    const std::string value = option_text(option, now);
    if (value.empty() || value == option_text(option, before)) continue;
    std::string flag = fmt::format(" --{}", option.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (option.name == "shuffle")
      out += now.shuffle == ShuffleWord::kNone    ? " --no-shuffle"
             : now.shuffle == ShuffleWord::kExact ? " --exact"
                                                  : " --shuffle";
    else if (option.type != &value_type<bool>)
      out += flag + " " + value;
    else if (value == "true")
      out += flag;
  }
  return out;
}

/// How large batches are, as an argument of Python's Loader.
std::string batch_argument(const BatchChoice& batch) {
  if (const auto* const samples = std::get_if<Samples>(&batch)) return fmt::format("{}", samples->size);
  if (const auto* const samples = std::get_if<GlobalSamples>(&batch))
    return fmt::format("global_batch_size={}", samples->size);
  if (const auto* const budget = std::get_if<ByTokens>(&batch))
    return fmt::format("batch=hr.ByTokens({})", budget->tokens);
  const auto* const groups = std::get_if<Groups>(&batch);
  return fmt::format("group_by=\"{}\"", groups ? groups->by : "");
}

/// What follows "headrace bench " to measure the same samples in the same batches; empty where no command line says it.
std::string same_work(const RunConfig& run) {
  if (!run.path.empty()) {
    const RunConfig file = load_run(run.path);
    const bool same = data_section_text(file) == data_section_text(run);
    return quoted_word(run.path) + (same ? "" : fields_words(run)) + loader_words(run, file);
  }
  const FilesNode* const files = files_of(run);
  if (!files) return "";
  OpenOptions fields;
  fields.fields = files->options.fields;
  RunConfig plain;
  plain.data = tree_of(files->paths, std::move(fields));
  if (files->paths.size() > 2 || data_section_text(plain) != data_section_text(run)) return "";
  plain.loader.order = BlockShuffle{};
  std::vector<std::string> words;
  for (const std::string& file : files->paths) words.push_back(quoted_word(file));
  return fmt::format("{}{}{}", fmt::join(words, " "), fields_words(run), loader_words(run, plain));
}

std::string quoted_files(const RunConfig& run) {
  const FilesNode* const files = files_of(run);
  if (!files) return " FILE";
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(files->paths.size(), 2); ++i)
    out += fmt::format(" '{}'", files->paths[i]);
  return files->paths.size() > 2 ? out + " …" : out;
}

}  // namespace

std::string limit_text(const Advice& a) {
  const Forecast& f = a.advised.forecast;
  std::string text = why(f.warm_bottleneck, a);
  text += fmt::format(": on a few blocks {} samples/s with one thread", rate(a.probe.one.rows_per_s));
  if (a.probe.many.threads > 1)
    text += fmt::format(", {} with {}", rate(a.probe.many.rows_per_s), a.probe.many.threads);
  if (f.decodes > 1.05)
    text += fmt::format(" if each {} were decoded once, {} with these settings", unit_word(a), rate(f.warm));
  std::vector<std::string> others;
  if (f.warm_bottleneck != Bottleneck::kDecoding && f.decode_limit > 0 && f.decode_limit < 50 * f.warm)
    others.push_back("decoding " + rate(f.decode_limit));
  const bool slow_disk = f.cold_read_limit < f.warm;  // then it is no step that would be faster
  if (f.warm_bottleneck != Bottleneck::kReading && f.warm_read_limit > 0)
    others.push_back("reading " + rate(f.warm_read_limit) + " from memory" +
                     (slow_disk ? "" : fmt::format(" and {} from the disk", rate(f.cold_read_limit))));
  if (f.warm_bottleneck != Bottleneck::kMoving && f.move_limit > 0)
    others.push_back(fmt::format("copying {} into batches {}", moved_word(a), rate(f.move_limit)));
  if (!others.empty())
    text += fmt::format(". Each of the other steps alone would be faster: {}", fmt::join(others, ", "));
  if (f.cold_bottleneck != f.warm_bottleneck)
    text += fmt::format(". While files come from the disk the limit is {}", why(f.cold_bottleneck, a));
  else if (f.cold_read_limit > 0 && f.cold_read_limit < 0.9 * f.warm_read_limit && slow_disk)
    text += ". While files come from the disk this is slower";
  if (slow_disk && f.cold_read_limit > 0) text += fmt::format(": at most {} samples/s", rate(f.cold_read_limit));
  return text;
}

std::string storage_text(const Advice& a, const Storage& storage) {
  const ReadProbe& reads = a.probe.reads;
  if (!reads.late()) return std::string(storage.meaning());
  const Forecast& f = a.advised.forecast;
  const std::string text = fmt::format(
      "It answers late: a read alone took {:.1f} ms, with opening its file where each chunk has one. So Headrace reads "
      "ahead of decoding; {} reads at once brought {}/s here, ",
      1e3 * reads.seconds_a_read, reads.in_flight, format_bytes(static_cast<std::uint64_t>(reads.cold_bytes_per_s)));
  if (f.cold >= 0.9 * f.warm) return text + "more than decoding takes: a local copy would gain little";
  return text + fmt::format(
                    "which feeds {} samples/s of the {} that can be decoded: a local copy, or fewer stored bytes "
                    "(headrace rewrite), would gain the rest",
                    rate(f.cold), rate(f.warm));
}

std::string window_text(const Advice& a) {
  using Kind = CacheAdvice::Kind;
  const AdvisedSettings& s = a.advised;
  const Kind kind = s.cache.kind;
  const std::string from_then_on = fmt::format("and its {} come from the cache from then on", moved_word(a));
  if (kind == Kind::kAllInMemory || kind == Kind::kRecoded || kind == Kind::kDirectory)
    return fmt::format("each {} is decoded once, {}", unit_word(a), from_then_on);
  if (a.data.redraws)
    return fmt::format(
        "batches that wait together share what is decoded; an epoch decodes each {} {:.1f} times on "
        "average",
        unit_word(a), s.forecast.decodes);
  if (s.forecast.decodes < 1.05) return fmt::format("enough for each {} to be decoded once an epoch", unit_word(a));
  if (s.has_whole_window) return "as many as the order can use; " + shared_units_text(a);
  return fmt::format("too few batches at a time: each {} is decoded {:.1f} times an epoch{}", unit_word(a),
                     s.forecast.decodes,
                     a.small && a.small->fitting ? "; with " + a.small->fitting->setting + " once" : "");
}

std::string recoding_text(const Advice& a) {
  if (a.data.has_cells) return "";
  if (a.recode.codecs.size() < 2)
    return "nothing to measure: the leading field has no chunks that headrace rewrite could write anew";
  std::string text =
      fmt::format("measured on one chunk of {} ({}): ", a.recode.field, format_bytes(a.recode.chunk_bytes));
  for (std::size_t i = 0; i < a.recode.codecs.size(); ++i) {
    const RecodedChunk& c = a.recode.codecs[i];
    text += (i ? "; " : "") + c.codec;
    text += c.ratio < 1.05 ? std::string(" no smaller") : fmt::format(" {:.1f}x smaller", c.ratio);
    if (c.decode_bytes_per_s < 50e9)
      text += fmt::format(", decoded at {:.2f} GB/s a thread", c.decode_bytes_per_s * 1e-9);
  }
  const std::size_t best = a.best_recoding();
  const Forecast now = a.advised.forecast, then = a.recoded(best);
  if (best == 0 || !worth_rewriting(a)) return text + ". Another codec would gain little";
  text += fmt::format(
      ". Written with {} the files would load {:.1f} times as fast from memory, and {:.1f} times from the disk",
      a.recode.codecs[best].codec, then.warm / std::max(now.warm, 1e-9), then.cold / std::max(now.cold, 1e-9));
  const double size = a.recode.codecs[0].ratio / a.recode.codecs[best].ratio;
  if (size > 1.25) text += fmt::format("; they would take {:.1f} times the space", size);
  if (size < 0.8) text += fmt::format("; they would take {:.0f} % of the space", 100 * size);
  return text;
}

std::string target_text(const Advice& a) {
  const double target = a.target_per_second;
  if (target <= 0) return "";
  Forecast f = a.advised.forecast;
  f.warm = first_epoch_rate(a, a.advised, f.warm), f.cold = first_epoch_rate(a, a.advised, f.cold);  // as in the table
  const std::string wanted = rate(target) + " samples/s ";
  if (f.cold >= target)
    return wanted + fmt::format("is reached, also while files come from the disk ({})", rate(f.cold));
  if (f.warm >= target)
    return wanted + fmt::format("is reached once the files are in memory ({}); while they come from the disk it is {}",
                                rate(f.warm), rate(f.cold));
  if (a.advised.cache.later >= target)
    return wanted + fmt::format("is reached with these settings from the second epoch on ({}); in the first it is {}",
                                rate(a.advised.cache.later), rate(f.warm));
  std::string text = wanted + fmt::format("is not reached with these settings ({})", rate(f.warm));
  std::vector<std::string> ways;
  const auto usable = static_cast<std::uint32_t>(a.cpus.usable);
  if (const double all = forecast(a.probe, a.data, f.decodes, usable).warm; a.advised.threads < usable && all >= target)
    ways.push_back(fmt::format("threads={} ({})", usable, rate(all)));
  if (const double once = a.once().warm; a.small && once >= target) {
    if (a.small->fitting)
      ways.push_back(
          fmt::format("{}, which decodes each block once in this memory ({})", a.small->fitting->setting, rate(once)));
    if (a.small->memory_bytes)
      ways.push_back(fmt::format("memory={}, which decodes each block once ({})", size_setting(a.small->memory_bytes),
                                 rate(once)));
  }
  if (const std::size_t best = a.best_recoding(); best > 0 && a.recoded(best).warm >= target)
    ways.push_back(fmt::format("files written with {} ({})", a.recode.codecs[best].codec, rate(a.recoded(best).warm)));
  if (!ways.empty()) return text + fmt::format(". It would be with {}", fmt::join(ways, "; or with "));
  const double each = f.warm / std::max(a.advised.threads, 1u);
  return text + fmt::format(", and cannot be on this machine by any setting; about {} such processors would reach it",
                            static_cast<std::uint64_t>(std::ceil(target / std::max(each, 1e-9))));
}

std::vector<std::string> next_steps(const Advice& a, const RunConfig& run) {
  std::vector<std::string> steps;
  const std::string memory = size_setting(a.advised.memory_bytes);
  const std::string cache = advised_cache(a, run);
  const std::string work = same_work(run);
  steps.push_back(
      work.empty() ? "Check it: --write run.yaml here, then headrace bench run.yaml --epochs 2"
                   : fmt::format("Check it: headrace bench {} --threads {} --memory {} --cache {} --epochs 2{}", work,
                                 a.advised.threads, memory, cache,
                                 run.path.empty() ? " (or --write run.yaml here, then headrace bench run.yaml)" : ""));
  steps.push_back(
      fmt::format("In your program: hr.Loader(data, {}{}, threads={}, memory=\"{}\"{}). Afterwards "
                  "print(loader.report()) says what really limited it",
                  batch_argument(run.loader.batch),
                  run.loader.order.is<ExactShuffle>() ? ", shuffle=\"exact\""
                  : run.loader.order.is_shuffle()     ? ", shuffle=True"
                                                      : "",
                  a.advised.threads, memory,
                  a.advised.cache.kind == CacheAdvice::Kind::kNone ? "" : fmt::format(", cache=\"{}\"", cache)));
  if (a.small) steps.push_back(once_text(a));
  const std::size_t best = a.best_recoding();
  if (a.data.slow_path && !a.data.has_cells)
    steps.push_back(
        "Some fields are decoded or converted one at a time (headrace inspect names them). headrace rewrite" +
        quoted_files(run) +
        " --to fast/ stores those anew whose filter is the reason; the others need numbers that NumPy has: then all "
        "threads decode");
  else if (!a.data.slow_path && best > 0 && worth_rewriting(a) && a.advised.forecast.decodes < 1.5 &&
           a.advised.cache.later < 1.2 * a.recoded(best).warm)
    steps.push_back(
        fmt::format("If that is too slow, write the files once more with {}: headrace rewrite{} --to fast/ --codec {}. "
                    "That is what limits you, and no setting changes it",
                    a.recode.codecs[best].codec, quoted_files(run), a.recode.codecs[best].name));
  steps.push_back(
      "If your training is slower than the figures above, loading is not your problem: leave these settings alone");
  return steps;
}

}  // namespace headrace
