#include <headrace/mix.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/joined_rows.h"
#include "dataset/samples/mapped_samples.h"

namespace headrace {
namespace {

constexpr double kLeastTemperature = 1e-3;

/// The rows of a part, or those that its samples are made of.
const Source& source_of_part(const MixPart& part) {
  const SampleSource& source = impl_of(part.data)->source;
  return source.rows() ? *source.rows() : *source.mapped()->made_of();
}

/// How the samples of each part are made of rows; empty: they are rows. Throws for parts that differ in it.
std::vector<SampleMaker::Part> makers_of(const std::vector<MixPart>& parts) {
  std::vector<SampleMaker::Part> makers;
  std::string first;
  for (const MixPart& part : parts) {
    refuse_drawn(*impl_of(part.data), "mix()");
    const MappedSource* const mapped = remade(*impl_of(part.data), "mix()");
    const std::string form = mapped ? mapped->maker->form() : "rows";
    if (mapped) makers.push_back({part.name, mapped->maker.get()});
    if (first.empty()) first = form;
    if (form != first)
      throw refuse(fmt::format("the samples of {} are {}, those of {} are {}", parts[0].name, first, part.name, form),
                   "A batch holds samples of all parts: make them alike.");
    if (mapped && !mapped->maker->follows_files())
      throw refuse(fmt::format("the windows of {} go on from file to file, and would from part to part", part.name),
                   "Make them without across_files, or of one file.");
  }
  return makers;
}

std::vector<double> weights_of(const std::vector<MixPart>& parts, double temperature) {
  std::vector<double> weights;
  const bool by_size = std::ranges::all_of(parts, [](const MixPart& p) { return p.weight == 0; });
  for (const MixPart& p : parts) {
    if (p.weight == 0 && !by_size)
      throw refuse(
          fmt::format("{} has no weight, and others have", p.name),
          "Give every part a positive weight, or no weights: then each part is weighted by its number of rows.");
    if (!std::isfinite(p.weight) || p.weight < 0)
      throw refuse(
          fmt::format("the weight of {} is {}", p.name, p.weight),
          "Give every part a positive weight, or no weights: then each part is weighted by its number of rows.");
    weights.push_back(by_size ? static_cast<double>(p.data.size()) : p.weight);
  }
  const double largest = *std::ranges::max_element(weights);
  double sum = 0;
  for (double& w : weights) sum += w = std::pow(w / largest, 1 / temperature);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if ((weights[i] /= sum) < 1e-12)
      throw refuse(fmt::format("{} would be drawn once in {:.0e} samples", parts[i].name, 1 / weights[i]),
                   "Raise its weight or the temperature, or leave it out.");
  return weights;
}

std::uint64_t samples_of(const std::vector<MixPart>& parts, const std::vector<double>& weights,
                         const MixOptions& options) {
  if (options.num_samples != 0) return options.num_samples;
  double samples = static_cast<double>(parts[0].data.size()) / weights[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const double here = static_cast<double>(parts[i].data.size()) / weights[i];
    samples = options.stop == MixStop::kFirst ? std::min(samples, here) : std::max(samples, here);
  }
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::min(std::round(samples), 0x1p52)));
}

/// Null where a part has no recipe.
DataTree mix_node(const std::vector<MixPart>& parts, const MixOptions& options) {
  MixNode mix{{}, options};
  for (const MixPart& p : parts) {
    if (!impl_of(p.data)->node) return nullptr;
    mix.parts.push_back({p.name, impl_of(p.data)->node, p.weight});
  }
  return node_of(std::move(mix));
}

}  // namespace

Dataset mix(const std::vector<MixPart>& parts, const MixOptions& options) {
  if (parts.empty()) throw refuse("a mixture of nothing", "Give at least one data set.");
  if (!std::isfinite(options.temperature) || options.temperature < kLeastTemperature)
    throw refuse(fmt::format("a temperature of {}", options.temperature), "1 leaves the weights as they are.");
  if (options.num_samples > std::uint64_t{1} << 52) throw refuse("more than 2^52 samples an epoch", "Give fewer.");
  auto mixture = std::make_shared<SourceMixture>();
  const std::vector<double> weights = weights_of(parts, options.temperature);
  const std::vector<SampleMaker::Part> makers = makers_of(parts);
  std::vector<NamedRows> rows;
  std::vector<std::uint64_t> chosen;
  std::uint64_t stored = 0;
  std::size_t files = 0;
  bool any_chosen = false;
  for (const MixPart& p : parts) any_chosen = any_chosen || impl_of(p.data)->blocks->is_chosen();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const SampleSource& part = impl_of(parts[i].data)->source;
    if (part.finisher() || part.program())
      throw refuse(fmt::format("the samples of {} are transformed", parts[i].name), "Mix first, then transform.");
    if (part.mixture())
      throw refuse(fmt::format("{} is a mixture itself", parts[i].name), "Mix all data sets at once.");
    if (parts[i].data.closed()) throw Error(ErrorCode::kClosed, fmt::format("{} was closed", parts[i].name));
    rows.push_back({parts[i].name, &source_of_part(parts[i])});
    const BlockTable& blocks = *impl_of(parts[i].data)->blocks;
    mixture->parts.push_back({parts[i].name, files, blocks.num_files(), weights[i]});
    for (std::uint64_t s = 0; any_chosen && s < blocks.num_rows(); ++s)
      chosen.push_back(stored + (blocks.chosen() ? (*blocks.chosen())[s] : s));
    files += blocks.num_files();
    stored += blocks.num_stored_rows();
  }
  std::shared_ptr<Source> source = join_rows(rows);
  std::shared_ptr<const RowSet> samples;
  if (any_chosen) samples = std::make_shared<const RowSet>(stored, chosen);
  mixture->num_samples = samples_of(parts, weights, options);
  if (!makers.empty()) {
    std::shared_ptr<const SampleMaker> maker = makers[0].maker->joined(makers, *source);
    return Dataset(make_samples(std::move(maker), std::move(source), std::move(samples), mix_node(parts, options),
                                std::move(mixture)));
  }
  source->chosen = std::move(samples);
  source->mixture = std::move(mixture);
  return Dataset(Dataset::Impl::make(std::move(source), mix_node(parts, options)));
}

}  // namespace headrace
