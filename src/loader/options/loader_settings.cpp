#include "loader/options/loader_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "assembly/ahead/reader_count.h"
#include "dataset/recipe/refuse.h"
#include "loader/options/option_forms.h"
#include "loader/options/option_rules.h"
#include "loader/options/words.h"
#include "order/steps/window_steps.h"

namespace headrace {
namespace {

using S = LoaderSettings;
using O = LoaderOptions;
constexpr std::uint64_t kMostThreads = 4096, kMostReadsInFlight = ReaderCount::kMost;
constexpr std::array<const char*, 2> kFrameworks{"numpy", "torch"}, kBatchFormats{"dict", "tuple"};
constexpr std::array<const char*, 1> kOnError{"raise"};

Spec make_list() {
  return Spec::of<S>(
      "loader", "How samples are delivered.",
      {member<&S::batch_size>("batch_size", "Samples per batch, on each rank; or give global_batch_size").at_least(1),
       member<&S::shuffle>(
           "shuffle",
           "Order: true or block (mixed well, each block decoded once), exact (one permutation of all rows), or false")
           .else_("false")
           .detail("Small data is permuted whole, larger data block by block; explain() says how well. Exact decodes "
                   "blocks more often where memory is short."),
       member<&S::shuffle_buffer>(
           "shuffle_buffer", "How much data the block shuffle mixes at a time; default: from the data and the batch")
           .detail("Bytes, text such as \"1GiB\", or a shape: ShuffleShape(64, 4) or \"64x4\". It goes with "
                   "shuffle=True."),
       member<&S::sampler>("sampler", "Custom order: weights, balanced classes, or an iterable of row numbers")
           .takes("Weighted, Balanced, or an iterable of row numbers")
           .detail(
               "An iterable of row numbers and slices (a list, an array, a torch sampler) is gone through at the "
               "start of each epoch and divided over ranks, unless it divides by itself as DistributedSampler does. "
               "set_epoch() is called if it has one. Plain data, and a sampler without len(), are gone through for "
               "epoch 0 when the loader is made. Patches that are drawn have no numbers, and take neither a sampler "
               "nor a batch_sampler; those of a grid do.")
           .code_only(),
       member<&S::batch_sampler>(
           "batch_sampler", "Custom order, batch by batch, each of its own size; it is the rank's own, as in torch")
           .takes("an iterable of lists of row numbers")
           .detail(
               "Excludes batch_size. Give each rank its batches, as many on every rank. Gone through as a sampler is; "
               "one without a batch_size also when the loader is made.")
           .code_only(),
       member<&S::by_tokens, AsBudget>(
           "batch", "Batches of as many samples as a budget of rows holds, for ragged samples, instead of batch_size")
           .cure("For batches of so many samples give batch_size=.")
           .detail("See ByTokens."),
       member<&S::group_by, AsName>(
           "group_by",
           "Batches of whole groups (files, events, recordings) instead of batch_size; shuffle shuffles them")
           .detail(
               "\"file\"; a field with one whole number a row, whose groups are runs of rows with an equal number in "
               "one file; or the number of an axis of open(sample_axes=): 0 makes groups of the samples of one place "
               "along axis 0 (whole recordings), 1 of one place along axes 0 and 1. Batches have two more fields: "
               "_group, int64 of shape (rows,), the number of each row's group (of the file in dataset.files; of the "
               "run or the place, from 0), and _group.offsets, int64: where each group begins in the batch, and at the "
               "end the number of rows. A group's rows stay in order, and ranks get whole batches. See GroupReducer."),
       member<&S::max_items>("max_items",
                             "With group_by: most samples of a batch, which holds whole groups; default 65536")
           .at_least(1)
           .detail("A group of more rows is cut every so many, and goes on in the next batch."),
       member<&S::max_groups>("max_groups",
                              "With group_by: most groups of a batch; default: as many as fit into max_items")
           .at_least(1),
       member<&S::lookahead>("lookahead",
                             "For a sampler that learns from the batches: how many batches ahead it is asked")
           .takes("a whole number of at least 1")
           .detail(
               "Default: the whole epoch at once. 1: it is asked when the batch is asked for. Such an epoch cannot be "
               "resumed in its middle.")
           .code_only(),
       member<&S::global_batch_size>("global_batch_size", "Samples per step over all ranks, instead of batch_size")
           .at_least(1),
       member<&S::drop_last>("drop_last", "Drop the samples that do not fill the last batch; the same as tail: drop"),
       member<&S::tail>("tail",
                        "Samples that do not fill the last batch: partial (default), drop, or pad (fills it up)")
           .else_("partial")
           .detail("Pad repeats samples of the batch, and every batch has a field _weight, float32, 0 for repeats."),
       member_of<&S::options, &O::seed>("seed", "Seed of the order"),
       member_of<&S::options, &O::rank>("rank", "Data-parallel rank; default: as the launcher says")
           .takes("a whole number below world_size")
           .detail("Give it with world_size. All ranks make equal steps. Without: what torch.distributed says if it is "
                   "set up, else what torchrun, "
                   "srun or mpirun put into the environment, else 0 of 1; asked when an epoch starts.")
           .cure("Ranks count from 0, and are below world_size."),
       member_of<&S::options, &O::world_size>("world_size", "Number of data-parallel ranks")
           .at_least(1)
           .cure("It is the number of processes that share the batches."),
       member_of<&S::options, &O::memory, AsBytes>(
           "memory", "Most memory to use, for example 8GiB; default: 60 % of what is free")
           .detail("set_memory() bounds all loaders of a process together."),
       member_of<&S::options, &O::threads>("threads", "Decode threads; default: this process's share of the processors")
           .at_least(1)
           .at_most(kMostThreads)
           .detail("The ranks of a host divide its processors."),
       member_of<&S::options, &O::reads_in_flight, AsAutoOr>(
           "reads_in_flight",
           "Reads made at once ahead of decoding, where files answer late: auto (default), or a number")
           .at_least(1)
           .at_most(kMostReadsInFlight)
           .detail("Auto: as many as keep the threads decoding, by what reads take, 128 at most; none where they come "
                   "from memory. A number spares a server, or is tried against auto: see docs/late-files.md."),
       member_of<&S::options, &O::cache>("cache",
                                         "Where decoded data is kept between epochs: auto, none, ram, or a DIRECTORY")
           .detail(
               "Auto: everything, if it fits the memory; else as many blocks as fit beside the window, re-encoded "
               "where "
               "that pays. Ram: everything, decoded before the first batch (see preload()); an error if it does not "
               "fit. A directory: everything, as .npy files that are written during the first epoch and mapped after "
               "it, for later runs too."),
       member_of<&S::options, &O::share>("share",
                                         "host: processes on this host that load the same data share one cache")
           .detail("Give it to all of them. With a cache directory it is so anyway."),
       member<&S::framework, AsWord<kFrameworks>>("framework", "What a batch's arrays are in Python: numpy, or torch")
           .not_on_command_line()
           .detail("Tensors lie over the same memory, without a copy."),
       member<&S::device, AsDevice>("device",
                                    "Where batches are delivered in Python: cpu, or a device of torch such as cuda")
           .not_on_command_line()
           .detail("With framework=\"torch\": batches are copied there ahead, by a thread and on a stream of their "
                   "own, and "
                   "are ready for the current stream of the thread that takes them (see docs/feeding-a-gpu.md). "
                   "\"fake\", or "
                   "a torch.FakeDevice: as if there were one."),
       member<&S::batch_format, AsWord<kBatchFormats>>("batch_format",
                                                       "What a batch is in Python: a dict, or a tuple in field order")
           .not_on_command_line(),
       member_of<&S::options, &O::layout>(
           "layout", "Samples of different length: ragged (values and offsets), or padded to the longest of a batch")
           .detail("Ragged: x has the rows of all samples, one behind the other, and x.offsets, int64, where each "
                   "begins and "
                   "at last their number. Padded: x has shape (samples, longest of the batch, ...); two fields follow, "
                   "mask, bool of shape (samples, longest), True where a row is the sample's own, and lengths, int64."),
       member_of<&S::options, &O::fill>("fill", "With layout padded: what samples are filled up with"),
       member_of<&S::options, &O::provenance>("provenance", "Add the field _rows, which says where each row came from")
           .detail("int64 of shape (rows, 2): number of the file, and row in it. Of patches: _volume, the number of "
                   "the file, "
                   "and _start, the first voxel along each axis."),
       member<&S::on_error, AsWord<kOnError>>("on_error", "What to do on damaged data: raise")
           .not_on_command_line()
           .cure("Damaged data is an error at the first batch that holds it; headrace verify lists what is bad "
                 "beforehand."),
       member_of<&S::options, &O::timeout>("timeout", "Longest wait for one batch, in seconds; default: no limit")
           .cure("Leave it out to wait without limit.")
           .detail("A batch that comes later is a LoaderTimeoutError.")});
}

}  // namespace

const Spec& spec_of(const LoaderSettings*) {
  static const Spec spec = make_list();
  return spec;
}

const Spec& spec_of(const ByTokens*) {
  static const Spec spec = Spec::of<ByTokens>(
      "batch", "Batches of as many samples as a budget of rows holds.",
      {member<&ByTokens::tokens>("tokens", "Most rows of a batch, on each rank")
           .required()
           .at_least(1)
           .at_most(StepRules::kMostBudget),
       member<&ByTokens::max_samples>("max_samples", "Most samples of a batch, on each rank")
           .at_least(1)
           .at_most(kMostBatchRows)
           .else_("no limit"),
       member<&ByTokens::too_long>("too_long", "What happens to samples that are longer than the budget"),
       member<&ByTokens::lanes>("lanes", "The largest number of ranks that steps are planned for")
           .at_least(1)
           .at_most(kMostLanes)
           .else_("the ranks of the first run"),
       member<&ByTokens::lookahead>("lookahead", "Steps that are planned together")
           .at_least(1)
           .at_most(kMostLookahead)});
  return spec;
}

std::vector<std::string_view> options_replaced_by(const ValueMap& given) {
  const auto find = [&](std::string_view name) -> const Value* {
    const auto found = std::ranges::find(given, name, &ValueEntry::key);
    return found == given.end() || found->value.is_none() ? nullptr : &found->value;
  };
  const auto any = [&](std::initializer_list<std::string_view> names) { return std::ranges::any_of(names, find); };
  std::vector<std::string_view> replaced;
  const auto replace = [&](bool is_replaced, std::initializer_list<std::string_view> names) {
    if (is_replaced) replaced.insert(replaced.end(), names);
  };
  const bool groups = find("group_by") != nullptr;
  const bool sizes = any({"batch_size", "global_batch_size", "batch", "group_by", "batch_sampler"});
  replace(sizes, {"batch_size", "global_batch_size", "batch", "group_by"});
  replace(sizes && !groups, {"max_items", "max_groups"});
  replace(any({"group_by", "batch_sampler", "drop_last", "tail"}), {"drop_last", "tail"});
  replace(any({"sampler", "batch_sampler"}), {"shuffle", "shuffle_buffer"});
  ShuffleWord shuffle = ShuffleWord::kBlock;
  if (const Value* const word = find("shuffle"))
    if (!ValueCodec<ShuffleWord>::read(*word, {}, {}, shuffle).ok()) shuffle = ShuffleWord::kBlock;  // refused later
  replace(groups || shuffle != ShuffleWord::kBlock, {"shuffle_buffer"});
  replace(find("layout") != nullptr, {"fill"});
  const Value* const cache = find("cache");
  replace(cache && cache->text() && *cache->text() == word_of(CacheChoice::kNone), {"share"});
  replace(find("batch_sampler") != nullptr, {"rank", "world_size"});
  return replaced;
}

bool is_given(const Member& option, const LoaderSettings& settings) {
  static const LoaderSettings usual;
  return !spec<LoaderSettings>().is_same(option, &settings, &usual);
}

std::string option_text(const Member& option, const LoaderSettings& settings) {
  const Value value = spec<LoaderSettings>().value_of(option, &settings);
  if (value.is_none()) return {};
  if (const std::string* const text = value.text()) return *text;
  const ValueMap* const map = value.map();
  if (!map) return flow_text(value);
  std::string words;
  for (const ValueEntry& entry : *map)
    words += fmt::format("{}{}={}", words.empty() ? "" : ",", entry.key,
                         entry.value.text() ? *entry.value.text() : flow_text(entry.value));
  return words;
}

}  // namespace headrace
