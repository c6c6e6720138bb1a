// What open_volumes() and patches() take, as run files and recipes have it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/volumes.h>

#include <algorithm>
#include <utility>

#include "base/text/number_text.h"
#include "dataset/files/file_lists.h"
#include "dataset/recipe/field_forms.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/recipe/words.h"
#include "dataset/verbs/registry.h"
#include "spec/path_forms.h"

namespace headrace {

/// Whether small volumes are left out, as a word.
struct SmallWord {};
template <>
struct ValueCodec<bool, SmallWord> : ValueCodec<bool> {
  static std::string words(const Bounds&) { return "error or skip"; }
  static Status read(const Value& value, const At& at, const Bounds&, bool& to) {
    HEADRACE_ASSIGN(const std::size_t place, read_word(value, at, {"error", "skip"}));
    to = place == 1;
    return {};
  }
  static Value write(bool from) { return {std::string(from ? "skip" : "error")}; }
};

using ExtentsCodec = ValueCodec<std::vector<std::uint64_t>, OneOrMany<>>;
constexpr Bounds kLeastExtent{1};

using ClassList = std::vector<PatchClass>;
/// [mito, er], {labels: [1, 2, 5]}, or both: [mito, {labels: [1, 2]}].
template <>
struct ValueCodec<ClassList> {
  static std::string words(const Bounds&) { return "a list of arrays, or a map of arrays and the values of each"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, ClassList& to) {
    to.clear();
    if (value.is_none()) return {};
    if ((value.list() && value.list()->empty()) || (value.map() && value.map()->empty()))
      return refused(value, at, "no class is named", "Leave it out for patches that lie anywhere.");
    return for_each_named(
        value, at, words(bounds), [&](const std::string& name, const Value* more, const At& here) -> Status {
          std::vector<WholeNumber> values;
          if (!more) return to.push_back({name, {}}), Status();
          if (more->map())
            return refused(*more, here, "classes have no weights: all get as many patches",
                           "Name their values alone, such as {labels: [1, 2, 5]}. For other shares make a loader for "
                           "each class, and take so many batches of each.");
          HEADRACE_TRY((ValueCodec<std::vector<WholeNumber>, OneOrMany<>>::read(*more, here, {}, values)));
          for (const WholeNumber& one : values) to.push_back({name, one});
          return {};
        });
  }
  static Value write(const ClassList& from) {
    ValueMap groups;  // classes of an array that follow each other
    for (const PatchClass& one : from) {
      const bool goes_on = !groups.empty() && groups.back().key == one.array && one.value && groups.back().value.list();
      if (!goes_on) groups.push_back({one.array, one.value ? Value{ValueList{}} : Value{}, 0});
      if (one.value) std::get<ValueList>(groups.back().value.is).push_back({*one.value});
    }
    return named_value(std::move(groups));
  }
  static void pack(PackedWriter& out, const ClassList& from) {
    out.number(from.size());
    for (const PatchClass& one : from)
      out.text(one.array), ValueCodec<std::optional<WholeNumber>>::pack(out, one.value);
  }
  static void unpack(PackedReader& in, const Bounds&, ClassList& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      PatchClass& one = to.emplace_back();
      one.array = in.text();
      ValueCodec<std::optional<WholeNumber>>::unpack(in, {}, one.value);
    }
  }
  /// Return names with something more or nothing: a map where each has it and none comes twice, else a list.
  static Value named_value(ValueMap named) {
    if (named.empty()) return {};
    const bool all_have = std::ranges::none_of(named, [](const ValueEntry& one) { return one.value.is_none(); });
    if (all_have && check_twice(named, {}).ok()) return {std::move(named)};
    ValueList list;
    for (ValueEntry& one : named)
      list.push_back(one.value.is_none() ? Value{std::move(one.key)} : Value{ValueMap{std::move(one)}});
    return {std::move(list)};
  }
};

using ContextList = std::vector<PatchContext>;
/// [raw_32nm], {raw_32nm: [64, 64, 64]}, or both.
template <>
struct ValueCodec<ContextList> {
  static std::string words(const Bounds&) { return "a list of arrays, or a map of arrays and the shape of each"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, ContextList& to) {
    to.clear();
    if (value.is_none()) return {};
    return for_each_named(value, at, words(bounds),
                          [&](const std::string& name, const Value* more, const At& here) -> Status {
                            PatchContext& one = to.emplace_back(PatchContext{name, {}});
                            return more ? ExtentsCodec::read(*more, here, kLeastExtent, one.shape) : Status();
                          });
  }
  static Value write(const ContextList& from) {
    ValueMap named;
    for (const PatchContext& one : from)
      named.push_back({one.array, ValueCodec<std::vector<std::uint64_t>>::write(one.shape), 0});
    return ValueCodec<ClassList>::named_value(std::move(named));
  }
  static void pack(PackedWriter& out, const ContextList& from) {
    out.number(from.size());
    for (const PatchContext& one : from) out.text(one.array), ExtentsCodec::pack(out, one.shape);
  }
  static void unpack(PackedReader& in, const Bounds&, ContextList& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      PatchContext& one = to.emplace_back();
      one.array = in.text();
      ExtentsCodec::unpack(in, {}, one.shape);
    }
  }
};

namespace {

Status complete_volume(VolumeNode& node, const ReadContext& context) {
  if (!context.run_file.empty()) note_companions(node, context.run_file);
  return {};
}

void shorten_volume(VolumeNode& node) {
  auto& companions = node.volume.companion_files;
  for (FieldChoice& field : node.volume.arrays) {
    const auto divided = divide_path(field.path);
    const auto known = divided ? companions.find(divided->first) : companions.end();
    if (known != companions.end() && known->second.size() == 1)
      field.path = absolute_path(known->second[0]) + "::" + divided->second;
  }
  std::erase_if(companions, [](const auto& one) { return one.second.size() == 1; });
}

std::string text_of_patches(const PatchOptions& options, const DataNode&) {
  std::string text = fmt::format("patches of {}", fmt::join(options.shape, " x "));
  if (options.samples_per_epoch) return text + fmt::format(", {} drawn", group_digits(*options.samples_per_epoch));
  return text + fmt::format(" every {}", fmt::join(options.stride, " x "));
}

}  // namespace

void note_companions(VolumeNode& volume, const std::string& run_file, const std::set<std::string>* known) {
  for (const FieldChoice& field : volume.volume.arrays)
    if (const auto divided = divide_path(field.path);
        divided && !divided->first.empty() && (!known || known->contains(divided->first)))
      volume.volume.companion_files.try_emplace(divided->first, std::vector{beside(run_file, divided->first)});
}

const Spec& spec_of(const VolumeNode::Arrays*) {
  using A = VolumeNode::Arrays;
  static const Spec spec =
      Spec::of<A>("volume", "What a volume is.",
                  {member<&A::arrays>("arrays", "Which arrays a volume has.").else_("all of one shape"),
                   member<&A::companion_files, MapOf<AsPaths>>(
                       "companion_files", "What FILES of a \"FILES::PATH\" stands for, where that is several files.")});
  return spec;
}

const Spec& spec_of(const VolumeNode*) {
  static const Spec spec =
      Spec::of<VolumeNode>("volume", "Files whose arrays are volumes.",
                           {member<&VolumeNode::paths, AsPaths>("files", "Paths and globs of the files.").required(),
                            member<&VolumeNode::volume>("volume", "The arrays; {} takes all.").required()})
          .rule(&complete_volume)
          .before_writing(&shorten_volume);
  return spec;
}

const Spec& spec_of(const PatchOptions*) {
  using P = PatchOptions;
  static const Spec spec = Spec::of<P>(
      "patches", "Samples are boxes of volumes.",
      {member<&P::shape, OneOrMany<>>("shape", "Voxels of a patch along each axis.").required().at_least(1),
       member<&P::samples_per_epoch>("samples_per_epoch", "Draw so many patches in each epoch.").at_least(1),
       member<&P::stride, OneOrMany<>>("stride", "Voxels from the start of a patch to that of the next one.")
           .at_least(1),
       member<&P::edge>("edge", "What becomes of the last patch of a grid along an axis."),
       member<&P::fill>("fill", "What lies past the end, and outside an array of context."),
       member<&P::skip_small, SmallWord>("small", "What becomes of volumes that are smaller than a patch."),
       member<&P::draws>("draws", "Whether patches are drawn several near each other, or each by itself."),
       member<&P::balance>("balance", "Classes of voxels, of which each gets as many patches."),
       member<&P::context>("context", "Arrays of other voxels, with the shape of the box of each.")});
  return spec;
}

const Verb& volume_verb() {
  static const Verb verb = Verb::of<VolumeNode>(
      Verb::Of::kNothing, Verb::Of::kVolumes, "volume",
      [](const VolumeNode& node, const Opened&, const Opening& opening) -> Opened {
        OpenOptions options{.fields = node.volume.arrays, .companion_files = node.volume.companion_files};
        options.progress = opening.progress;
        return open_volumes(node.paths, options);
      },
      [](const VolumeNode& node, const DataNode&) { return counted(node.paths.size(), "volume"); });
  return verb;
}

const Verb& patches_verb() {
  static const Verb verb = Verb::of<PatchOptions>(
      Verb::Of::kVolumes, Verb::Of::kDataset, "patch",
      [](const PatchOptions& options, const Opened& volumes, const Opening&) -> Opened {
        return patches(std::get<Volumes>(volumes), options);
      },
      &text_of_patches);
  return verb;
}

}  // namespace headrace
