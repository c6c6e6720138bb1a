#include "transform/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/memory/align.h"
#include "base/text/nearest_name.h"
#include "transform/element_kernel.h"
#include "transform/kinds/turned_fields.h"
#include "transform/registry.h"

namespace headrace {

/// Works on a graph of values: each is a column, or made by one step of others.
class ProgramCompiler {
 public:
  explicit ProgramCompiler(std::vector<Program::Column> columns) : columns_(std::move(columns)) {
    for (const Program::Column& column : columns_) {
      current_.push_back(nodes_.size());
      nodes_.push_back({column.stored.field(), {}, column.is_ragged});
    }
  }

  Status add(const Transform& transform) {
    if (!turns_fields(transform.name)) return add_step(transform);
    std::vector<Field> fields;
    for (const std::string& name : transform.fields) {
      HEADRACE_ASSIGN(const std::size_t slot, find(transform, name));
      fields.push_back(nodes_[current_[slot]].field);
    }
    if (transform.fields.empty())
      for (const std::size_t node : current_)
        if (!nodes_[node].ragged) fields.push_back(nodes_[node].field);
    HEADRACE_ASSIGN(const std::vector<Transform> turns, turns_by_field(transform, fields));
    for (const Transform& turn : turns) HEADRACE_TRY(add_step(turn));
    return {};
  }

  Result<std::shared_ptr<const Program>> compile(std::vector<Transform> transforms) {
    if (current_.empty()) return Error(ErrorCode::kInvalidArgument, "no field is left to deliver");
    HEADRACE_TRY(drop_mixes());
    auto program = std::make_shared<Program>();
    Program& p = *program;
    p.transforms_ = std::move(transforms);
    for (const std::size_t node : current_) p.fields_.push_back(delivered(node));
    mark_used();
    join_columns();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (used_[c]) p.needed_.push_back(c);
    if (p.needed_.empty())
      return Error(ErrorCode::kInvalidArgument, "the remaining fields are made without any field of the files");
    p.targets_.resize(p.needed_.size());
    for (std::size_t i = 0; i < p.needed_.size(); ++i)
      if (root(p.needed_[i]) == p.needed_[i]) compile_group(p, p.needed_[i]);
    for (const std::size_t node : current_) p.origins_.push_back(origin_of(p, node));
    for (const Mix& mix : mixes_) {
      Program::Mixed mixed{mix.transform.text(), mix.kernel, {}};
      for (const std::string& name : mix.transform.fields) mixed.arrays.push_back(*slot_of(name));
      p.mixed_.push_back(std::move(mixed));
    }
    p.columns_ = std::move(columns_);
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  struct Node {
    Field field;                      // of a row
    std::optional<std::size_t> step;  // that makes it; none: a column
    bool ragged = false;              // a sample has any number of rows
  };
  struct Step {
    std::string text;
    std::shared_ptr<const Kernel> kernel;
    std::vector<std::size_t> in, out;
    bool used = false;
  };
  struct Mix {
    Transform transform;
    std::shared_ptr<const BatchKernel> kernel;
  };

  Status add_step(const Transform& transform) {
    std::vector<Field> inputs;
    std::vector<std::size_t> in;
    for (const std::string& name : transform.fields) {
      HEADRACE_ASSIGN(const std::size_t slot, find(transform, name));
      in.push_back(current_[slot]);
      inputs.push_back(nodes_[in.back()].field);
    }
    if (in.empty()) return Error(ErrorCode::kInvalidArgument, fmt::format("{}: names no field", transform.name));
    Result<CompiledTransform> compiled = compile_transform(transform, inputs);
    const bool works = !compiled.ok() || compiled->batch || (!compiled->outputs.empty() && !compiled->keeps_inputs);
    if (works) HEADRACE_TRY(check_alike(transform, in));
    HEADRACE_ASSIGN(CompiledTransform made, std::move(compiled));
    const bool ragged = nodes_[in[0]].ragged;
    if (works && ragged) HEADRACE_TRY(check_takes_rows(transform, made));
    if (!made.outputs.empty()) HEADRACE_TRY(need_unmixed(transform, made));
    if (made.batch) {
      mixed_names_.insert(mixed_names_.end(), transform.fields.begin(), transform.fields.end());
      mixes_.push_back({transform, made.batch});
      return {};
    }
    if (made.keeps_inputs) return keep(std::move(in));
    for (const std::string& name : made.dropped) {
      HEADRACE_ASSIGN(const std::size_t slot, find(transform, name));
      current_.erase(current_.begin() + static_cast<std::ptrdiff_t>(slot));
    }
    if (made.outputs.empty()) return {};
    const std::size_t step = steps_.size();
    steps_.push_back({transform.text(), made.kernel, in, {}});
    for (Field& output : made.outputs) {
      const std::size_t node = nodes_.size();
      steps_.back().out.push_back(node);
      const std::string name = output.name;
      nodes_.push_back({std::move(output), step, ragged});
      const auto slot = std::ranges::find_if(current_, [&](std::size_t n) { return nodes_[n].field.name == name; });
      if (slot == current_.end())
        current_.push_back(node);
      else
        *slot = node;
    }
    return {};
  }

  /// The field as a batch has it.
  [[nodiscard]] Field delivered(std::size_t node) const {
    Field field = nodes_[node].field;
    if (!nodes_[node].ragged) return field;
    std::vector<std::uint64_t> extents = field.dims.row_shape();
    extents.insert(extents.begin(), Dims::kRagged);
    field.dims = Dims(std::move(extents));
    return field;
  }

  /// A transform does not put a sample's rows and its one value together.
  [[nodiscard]] Status check_alike(const Transform& transform, std::span<const std::size_t> in) const {
    for (const std::size_t node : in)
      if (nodes_[node].ragged != nodes_[in[0]].ragged) {
        const bool first = nodes_[in[0]].ragged;
        return transform_error(
            transform,
            fmt::format("'{}' is ragged (any number of rows a sample), and '{}' is not",
                        nodes_[first ? in[0] : node].field.name, nodes_[first ? node : in[0]].field.name),
            "Name fields of one kind in a transform.");
      }
    return {};
  }
  [[nodiscard]] static Status check_takes_rows(const Transform& transform, const CompiledTransform& made) {
    if (!made.batch && (!made.kernel || made.kernel->takes_rows())) return {};
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: it takes samples of one shape, and the samples of '{}' differ in their number "
                             "of rows",
                             transform.name, transform.fields[0]))
        .with_field(transform.fields[0])
        .with_hint(
            "A Python function gets whole batches, ragged fields as values and offsets: "
            "ds.map(function).");
  }

  /// Keep only these of all fields, by node.
  Status keep(std::vector<std::size_t> nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (std::ranges::count(nodes, nodes[i]) > 1)
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("the field '{}' is named twice", nodes_[nodes[i]].field.name));
    current_ = std::move(nodes);
    return {};
  }

  /// Mixed values are those of a batch: nothing is made of them, and nothing takes their place.
  [[nodiscard]] Status need_unmixed(const Transform& transform, const CompiledTransform& made) const {
    std::vector<std::string> names = transform.fields;
    for (const Field& output : made.outputs) names.push_back(output.name);
    for (const std::string& name : names)
      if (std::ranges::find(mixed_names_, name) != mixed_names_.end())
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the field is mixed with other samples before that", transform.name))
            .with_field(name)
            .with_hint("Transforms of single samples come first, those of whole batches last.");
    return {};
  }

  /// Take fields that are not delivered out of the mixes.
  Status drop_mixes() {
    for (Mix& mix : mixes_) {
      std::vector<Field> inputs;
      const std::size_t named = mix.transform.fields.size();
      std::erase_if(mix.transform.fields, [&](const std::string& name) { return !slot_of(name); });
      if (mix.transform.fields.empty() || mix.transform.fields.size() == named) continue;
      for (const std::string& name : mix.transform.fields) inputs.push_back(nodes_[current_[*slot_of(name)]].field);
      HEADRACE_ASSIGN(CompiledTransform made, compile_transform(mix.transform, inputs));
      mix.kernel = made.batch;
    }
    std::erase_if(mixes_, [](const Mix& mix) { return mix.transform.fields.empty(); });
    return {};
  }

  [[nodiscard]] std::optional<std::size_t> slot_of(const std::string& name) const {
    for (std::size_t slot = 0; slot < current_.size(); ++slot)
      if (nodes_[current_[slot]].field.name == name) return slot;
    return std::nullopt;
  }
  Result<std::size_t> find(const Transform& transform, const std::string& name) const {
    if (const std::optional<std::size_t> slot = slot_of(name)) return *slot;
    std::vector<std::string> have;
    for (const std::size_t node : current_) have.push_back(nodes_[node].field.name);
    Error error(ErrorCode::kFieldMissing,
                fmt::format("{}no field '{}'; there are {}", transform.name.empty() ? "" : transform.name + ": ", name,
                            list_names(nearest_names(name, have))));
    return error;
  }

  /// Steps and columns that what is delivered comes from.
  void mark_used() {
    used_.assign(nodes_.size(), false);
    for (const std::size_t node : current_) used_[node] = true;
    for (std::size_t s = steps_.size(); s-- > 0;) {
      Step& step = steps_[s];
      step.used = std::ranges::any_of(step.out, [&](std::size_t n) { return used_[n]; });
      if (step.used)
        for (const std::size_t n : step.in) used_[n] = true;
    }
  }
  std::size_t root(std::size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  /// Columns that meet in a step belong together.
  void join_columns() {
    parent_.resize(nodes_.size());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const Step& step : steps_) {
      if (!step.used) continue;
      std::size_t first = root(step.in[0]);
      for (const auto* list : {&step.in, &step.out})
        for (const std::size_t n : *list) {
          const std::size_t other = root(n);
          parent_[std::max(first, other)] = std::min(first, other);  // a column is the root: they come first
          first = std::min(first, other);
        }
    }
  }

  /// The columns that depend on each other, of which `column` is the first.
  void compile_group(Program& p, std::size_t column) {
    std::vector<std::size_t> group;  // places in needed_
    bool cut = false, empty = false, steps = false;
    for (std::size_t i = 0; i < p.needed_.size(); ++i)
      if (root(p.needed_[i]) == column) {
        group.push_back(i);
        cut = cut || columns_[p.needed_[i]].is_cut;
        empty = empty || columns_[p.needed_[i]].stored.row_bytes() == 0;
      }
    for (const Step& step : steps_) {
      steps = steps || (step.used && root(step.in[0]) == column);
      if (step.used && root(step.in[0]) == column)
        for (const std::size_t n : step.out) empty = empty || nodes_[n].field.row_bytes() == 0;
    }
    if (!steps) {  // as it is stored
      p.targets_[group[0]].array = *slot_of_node(column);
      return;
    }
    const bool ragged = nodes_[column].ragged;
    const bool fused = group.size() == 1 && !cut && !empty;
    std::map<std::size_t, RowProgram::Value> values;  // by node
    Program::Staged staged;
    for (std::size_t k = 0; k < group.size(); ++k) {
      const std::size_t node = p.needed_[group[k]];
      values[node] = {RowProgram::Value::Where::kColumn, k, nodes_[node].field.row_bytes()};
      if (fused) continue;
      // A column that is delivered as it is lies in its field; others lie beside the fields.
      const std::optional<std::size_t> slot = slot_of_node(node);
      p.targets_[group[k]].array = slot ? *slot : p.fields_.size() + p.staged_fields_.size();
      if (!slot) p.staged_fields_.push_back(delivered(node));
      staged.arrays.push_back(p.targets_[group[k]].array);
      staged.row_bytes.push_back(nodes_[node].field.row_bytes());
    }
    std::shared_ptr<const RowProgram> program = compile_steps(column, fused, std::move(values));
    p.scratch_bytes_ = std::max(p.scratch_bytes_, program->scratch_bytes());
    if (fused) {
      p.targets_[group[0]] = {program->lead_array(), program.get()};
      p.fused_.push_back(std::move(program));
    } else {
      staged.program = std::move(program);
      staged.is_ragged = ragged;
      p.staged_.push_back(std::move(staged));
    }
  }

  std::shared_ptr<const RowProgram> compile_steps(std::size_t column, bool fused,
                                                  std::map<std::size_t, RowProgram::Value> places) {
    std::vector<RowProgram::Value> values;
    std::map<std::size_t, std::size_t> number;  // of a node's value
    std::size_t scratch = 0;
    const auto value_of = [&](std::size_t node) {
      const auto known = number.find(node);
      if (known != number.end()) return known->second;
      const std::uint64_t bytes = nodes_[node].field.row_bytes();
      RowProgram::Value value{RowProgram::Value::Where::kScratch, scratch, bytes};
      if (const auto it = places.find(node); it != places.end())
        value = it->second;
      else if (const std::optional<std::size_t> slot = slot_of_node(node))
        value = {RowProgram::Value::Where::kArray, *slot, bytes};
      else
        scratch += align_up(bytes);
      values.push_back(value);
      return number[node] = values.size() - 1;
    };
    std::vector<RowProgram::Step> made;
    if (fused)  // a column that is delivered as it is, and something is made of it too
      if (const std::optional<std::size_t> slot = slot_of_node(column)) {
        values.push_back({RowProgram::Value::Where::kArray, *slot, nodes_[column].field.row_bytes()});
        made.push_back({"copy", nullptr, {value_of(column)}, {0}});
      }
    for (Step& step : merged_steps(column)) {
      RowProgram::Step out{step.text, step.kernel, {}, {}};
      for (const std::size_t n : step.in) out.in.push_back(value_of(n));
      for (const std::size_t n : step.out) out.out.push_back(value_of(n));
      made.push_back(std::move(out));
    }
    return std::make_shared<const RowProgram>(std::move(values), std::move(made), scratch, nodes_[column].ragged);
  }

  /// The group's steps, those that work value by value put together where no step needs what lies between.
  std::vector<Step> merged_steps(std::size_t column) {
    std::vector<Step> merged;
    for (const Step& step : steps_) {
      if (!step.used || root(step.in[0]) != column) continue;
      const auto maker =
          std::ranges::find_if(merged, [&](const Step& m) { return m.out.size() == 1 && m.out[0] == step.in[0]; });
      const bool alone = step.kernel && step.kernel->elements() && maker != merged.end() && maker->kernel &&
                         maker->kernel->elements() && !slot_of_node(step.in[0]) && readers(step.in[0]) == 1;
      std::shared_ptr<const Kernel> both = alone ? maker->kernel->elements()->then(*step.kernel->elements()) : nullptr;
      if (!both) {
        merged.push_back(step);
        continue;
      }
      maker->text += " → " + step.text;
      maker->kernel = std::move(both);
      maker->out = step.out;
    }
    return merged;
  }
  [[nodiscard]] std::size_t readers(std::size_t node) const {
    std::size_t count = 0;
    for (const Step& step : steps_)
      if (step.used) count += static_cast<std::size_t>(std::ranges::count(step.in, node));
    return count;
  }

  [[nodiscard]] std::optional<std::size_t> slot_of_node(std::size_t node) const {
    const auto it = std::ranges::find(current_, node);
    if (it == current_.end()) return std::nullopt;
    return static_cast<std::size_t>(it - current_.begin());
  }

  /// The column that a field is, under its name through any number of steps of one input.
  [[nodiscard]] std::optional<std::size_t> origin_of(const Program& p, std::size_t node) const {
    while (nodes_[node].step) {
      const Step& step = steps_[*nodes_[node].step];
      if (step.in.size() != 1 || nodes_[step.in[0]].field.name != nodes_[node].field.name) return std::nullopt;
      node = step.in[0];
    }
    const auto at = std::ranges::find(p.needed_, node);
    if (at == p.needed_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - p.needed_.begin());
  }

  std::vector<Program::Column> columns_;
  std::vector<Node> nodes_;  // columns first
  std::vector<Step> steps_;
  std::vector<Mix> mixes_;
  std::vector<std::string> mixed_names_;
  std::vector<std::size_t> current_;  // node of each field
  std::vector<bool> used_;
  std::vector<std::size_t> parent_;
};

Result<std::shared_ptr<const Program>> Program::make(std::vector<Column> columns, std::vector<Transform> transforms) {
  ProgramCompiler compiler(std::move(columns));
  for (const Transform& transform : transforms) HEADRACE_TRY(compiler.add(transform));
  return compiler.compile(std::move(transforms));
}

std::string Program::identity() const {
  std::vector<std::string> texts;
  for (const Transform& transform : transforms_) texts.push_back(transform.text());
  std::vector<std::string> names;
  for (const Field& field : fields_) names.push_back(field.name);
  return fmt::format("{} → {}", fmt::join(texts, " → "), fmt::join(names, ", "));
}

}  // namespace headrace
