// What mix() takes, as run files and recipes have it.
#include <headrace/mix.h>

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "dataset/recipe/field_forms.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/recipe/words.h"
#include "dataset/verbs/registry.h"

namespace headrace {
namespace {

Status check_part(MixNode::MixedData& part, const ReadContext&) {
  return part.data ? Status() : Status(refuse("data is missing", "Each part of a mixture is a data set."));
}

}  // namespace

const Spec& spec_of(const MixNode::MixedData*) {
  using P = MixNode::MixedData;
  static const Spec spec =
      Spec::of<P>(
          "part", "A data set among others.",
          {member<&P::weight>("weight", "Its share, relative to the other parts.").else_("its number of samples"),
           member<&P::data>("data", "The data set, as data of a run file.").required()})
          .rule(&check_part);
  return spec;
}

const Spec& spec_of(const MixNode*) {
  using M = MixNode;
  using O = MixOptions;
  static const Spec spec = Spec::of<M>(
      "mix", "Several data sets as one, drawn in given proportions.",
      {member<&M::parts, ByKey<&M::MixedData::name>>("mix", "Name of each part, with weight and data.").required(),
       member_of<&M::options, &O::temperature>("temperature", "Weights are raised to the power of 1/temperature."),
       member_of<&M::options, &O::stop>("stop", "An epoch ends when the first part, or every part, has been used up."),
       member_of<&M::options, &O::num_samples>("num_samples", "Samples of an epoch.").else_("as stop says")});
  return spec;
}

const Verb& mix_verb() {
  static const Verb verb = Verb::of<MixNode>(
      Verb::Of::kNothing, Verb::Of::kDataset, "",
      [](const MixNode& node, const Opened&, const Opening& opening) -> Opened {
        std::vector<MixPart> parts;
        for (const MixNode::MixedData& part : node.parts)
          parts.push_back({part.name, resolve(*part.data, opening), part.weight});
        return mix(parts, node.options);
      },
      [](const MixNode& node, const DataNode&) {
        std::string text;
        for (const MixNode::MixedData& part : node.parts)
          text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", part.name, text_of(*part.data));
        return "mix of " + text;
      });
  return verb;
}

}  // namespace headrace
