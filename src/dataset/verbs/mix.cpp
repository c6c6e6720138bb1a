#include <headrace/mix.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataset/dataset_contents.h"
#include "dataset/files/companion_files.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"

namespace headrace {
namespace {

constexpr double kLeastTemperature = 1e-3;

std::string text_of(const StoredColumn& field) {
  std::string shape;
  for (const std::uint64_t n : field.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", n);
  return fmt::format("{} ({})", field.dtype.name(), shape);
}

/// The rows of a part, or those that its samples are made of.
const Source& source_of_part(const MixPart& part) {
  const SampleSource& source = impl_of(part.data)->source;
  return source.rows() ? *source.rows() : *source.mapped()->groups[0].source;
}

/// How the samples of all parts are made of rows; null: they are rows. Throws for parts that differ in it.
std::shared_ptr<const SampleMaker> maker_of(const std::vector<MixPart>& parts) {
  const auto maker = [](const MixPart& part) {
    const MappedSource* const mapped = remade(*impl_of(part.data), "mix()");
    return mapped ? mapped->maker : nullptr;
  };
  const std::shared_ptr<const SampleMaker> first = maker(parts[0]);
  const auto text = [](const SampleMaker* made) { return made ? made->identity() : "rows"; };
  for (const MixPart& part : parts) {
    const std::shared_ptr<const SampleMaker> other = maker(part);
    if (other && !other->joins())
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("a mixture of {} is not there yet", impl_of(part.data)->source.what()))
          .with_hint("Make a loader of each part, or open the files of all parts together.");
    if (text(other.get()) != text(first.get()))
      throw refuse(fmt::format("the samples of {} are {}, those of {} are {}", parts[0].name, text(first.get()),
                               part.name, text(other.get())),
                   "A batch holds samples of all parts: make them alike.");
    if (other && !other->follows_files())
      throw refuse(fmt::format("the windows of {} go on from file to file, which cannot be mixed yet", part.name),
                   "Make them without across_files, or of one file.");
  }
  return first;
}

/// Array of `part` that is the first part's array a, for each a.
std::vector<std::size_t> matching_arrays(const MixPart& first, const MixPart& part) {
  const Source &a = source_of_part(first), &b = source_of_part(part);
  const std::vector<StoredColumn>&fields = *a.columns, &others = *b.columns;
  if (fields.size() != others.size())
    throw refuse(fmt::format("{} has {} fields, {} has {}", first.name, fields.size(), part.name, others.size()),
                 "Choose the same fields of each with open(fields=).");
  std::vector<std::size_t> arrays(a.num_arrays(), b.num_arrays());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name != others[f].name)
      throw refuse(fmt::format("field {} is '{}' in {} and '{}' in {}", f, fields[f].name, first.name, others[f].name,
                               part.name),
                   "Choose the same fields of each, in one order, with open(fields=).");
    if (fields[f].dtype != others[f].dtype || fields[f].shape != others[f].shape)
      throw refuse(fmt::format("'{}' is {} in {} and {} in {}", fields[f].name, text_of(fields[f]), first.name,
                               text_of(others[f]), part.name),
                   "A batch holds rows of all parts: their types and shapes must agree.")
          .with_field(fields[f].name);
    const Source::ColumnPlace here = a.places[f], there = b.places[f];
    std::size_t& array = arrays[here.array];
    if (here.column != there.column || (array != b.num_arrays() && array != there.array))
      throw refuse(fmt::format("'{}' is a member of a compound array in one of {} and {} only, or of another",
                               fields[f].name, first.name, part.name),
                   "Store it alike in both.")
          .with_field(fields[f].name);
    array = there.array;
  }
  return arrays;
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
  auto source = std::make_shared<Source>();
  auto mixture = std::make_shared<SourceMixture>();
  const std::vector<double> weights = weights_of(parts, options.temperature);
  std::vector<std::uint64_t> chosen;
  std::uint64_t stored = 0;
  bool any_chosen = false;
  const std::shared_ptr<const SampleMaker> maker = maker_of(parts);
  for (const MixPart& p : parts) any_chosen = any_chosen || impl_of(p.data)->blocks->is_chosen();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Source& part = source_of_part(parts[i]);
    if (part.finisher || impl_of(parts[i].data)->source.program())
      throw refuse(fmt::format("the samples of {} are transformed", parts[i].name), "Mix first, then transform.");
    if (impl_of(parts[i].data)->source.mixture())
      throw refuse(fmt::format("{} is a mixture itself", parts[i].name), "Mix all data sets at once.");
    if (parts[i].data.closed()) throw Error(ErrorCode::kClosed, fmt::format("{} was closed", parts[i].name));
    const std::vector<std::size_t> arrays = matching_arrays(parts[0], parts[i]);
    mixture->parts.push_back({parts[i].name, source->files.size(), part.files.size(), weights[i]});
    if (any_chosen)
      for (const std::uint64_t row : parts[i].data.selected_rows()) chosen.push_back(stored + row);
    for (const SourceFile& file : part.files) source->files.push_back(with_arrays(file, arrays));
    stored += impl_of(parts[i].data)->blocks->num_stored_rows();
  }
  const Source& first = source_of_part(parts[0]);
  source->columns = first.columns;
  source->fields = first.fields;
  source->places = first.places;
  std::shared_ptr<const RowSet> samples;
  if (any_chosen) samples = std::make_shared<const RowSet>(stored, chosen);
  mixture->num_samples = samples_of(parts, weights, options);
  if (maker)
    return Dataset(
        make_samples(maker, std::move(source), std::move(samples), mix_node(parts, options), std::move(mixture)));
  source->chosen = std::move(samples);
  source->mixture = std::move(mixture);
  return Dataset(Dataset::Impl::make(std::move(source), mix_node(parts, options)));
}

}  // namespace headrace
