#include "dataset/data_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/dataset/spans.h>
#include <headrace/dataset/tokens.h>
#include <headrace/dataset/volumes.h>
#include <headrace/dataset/windows.h>

#include <bit>
#include <span>
#include <utility>

#include "base/number_text.h"
#include "base/packed.h"
#include "dataset/dataset_contents.h"
#include "dataset/refuse.h"
#include "dataset/verbs/select_rows.h"

namespace headrace {
namespace {

constexpr std::string_view kRecipe = "headrace data set 5";
constexpr int kMostDepth = 1000;         // verbs on top of each other in a recipe that is read
constexpr std::uint64_t kWordRows = 64;  // rows that a word of a selection's bitmap stands for

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string counted(std::uint64_t number, std::string_view noun) {
  const bool hisses = noun.ends_with("ch");
  return fmt::format("{} {}{}{}", group_digits(number), noun, hisses && number != 1 ? "e" : "", plural(number));
}

// ------------------------------------------------------------------------------------------------------------ writing

void write_texts(PackedWriter& out, const std::vector<std::string>& texts) {
  out.number(texts.size());
  for (const std::string& text : texts) out.text(text);
}

/// The bitmap from its first word with a row to its last.
void write_rows(PackedWriter& out, const RowSet& rows) {
  std::span<const std::uint64_t> words = rows.words();
  std::uint64_t first = 0;
  while (!words.empty() && words.front() == 0) words = words.subspan(1), ++first;
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  std::string bytes;
  for (const std::uint64_t word : words)
    for (int byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<char>(word >> 8 * byte));
  out.number(rows.size_of_whole());
  out.number(first);
  out.text(bytes);
}

void write_whole(PackedWriter& out, const WholeNumber& value) {
  out.flag(value < WholeNumber());
  out.number(value.bits());
}

/// What kinds of settings are written as. The order is part of the recipe.
struct SettingWriter {
  PackedWriter& out;
  void operator()(bool value) const { out.flag(value); }
  void operator()(std::int64_t value) const { out.signed_number(value); }
  void operator()(double value) const { out.number(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const std::string& value) const { out.text(value); }
  void operator()(const std::vector<double>& values) const {
    out.number(values.size());
    for (const double value : values) out.number(std::bit_cast<std::uint64_t>(value));
  }
  void operator()(const std::vector<std::string>& values) const { write_texts(out, values); }
  void operator()(const std::vector<WholeNumber>& values) const {
    out.number(values.size());
    for (const WholeNumber& value : values) write_whole(out, value);
  }
  void operator()(const std::vector<NumberColumn>& columns) const {
    out.number(columns.size());
    for (const NumberColumn& column : columns) {
      out.number(static_cast<std::uint64_t>(column.dtype().kind));
      out.number(column.dtype().itemsize);
      out.text({reinterpret_cast<const char*>(column.bytes().data()), column.bytes().size()});
    }
  }
};

void write_transforms(PackedWriter& out, const std::vector<Transform>& transforms) {
  out.number(transforms.size());
  for (const Transform& transform : transforms) {
    out.text(transform.name);
    write_texts(out, transform.fields);
    out.number(transform.settings.size());
    for (const auto& [name, value] : transform.settings) {
      out.text(name);
      out.number(value.index());
      std::visit(SettingWriter{out}, value);
    }
  }
}

const std::vector<std::uint64_t> kNoOffsets;

void write_files(PackedWriter& out, const FilesNode& files) {
  write_texts(out, files.paths);
  out.number(files.options.fields.size());
  for (const FieldChoice& field : files.options.fields) out.text(field.name), out.text(field.path);
  out.number(files.options.companion_files.size());
  for (const auto& [text, paths] : files.options.companion_files) out.text(text), write_texts(out, paths);
}

void write_numbers(PackedWriter& out, const std::vector<std::uint64_t>& numbers) {
  out.number(numbers.size());
  for (const std::uint64_t n : numbers) out.number(n);
}

void write_node(PackedWriter& out, const DataNode& node) {
  out.number(node.what.index());
  std::visit(Overloaded{[&](const FilesNode& files) {
                          write_files(out, files);
                          out.number(files.options.sample_axes);
                          out.number(static_cast<std::uint64_t>(files.options.nulls));
                          out.number(files.options.broadcast.size());
                          for (const BroadcastChoice& field : files.options.broadcast)
                            out.text(field.name), out.text(field.path), out.number(field.axes);
                          out.number(files.options.targets.size());
                          for (const FieldChoice& field : files.options.targets)
                            out.text(field.name), out.text(field.path);
                        },
                        [&](const RowsNode& rows) { write_rows(out, *rows.rows); },
                        [&](const FieldsNode& fields) { write_texts(out, fields.names); },
                        [&](const MapNode& map) { write_transforms(out, map.transforms); },
                        [&](const WindowsNode& windows) {
                          for (const std::uint64_t n : {windows.length, windows.stride, windows.lookahead})
                            out.number(n);
                          out.flag(windows.across_files);
                        },
                        [&](const SpansNode& spans) {
                          out.number(spans.kind);
                          out.number(spans.key_column);
                          out.number(spans.offset_list ? spans.offset_list->size() : 0);
                          std::uint64_t before = 0;
                          for (const std::uint64_t offset : spans.offset_list ? *spans.offset_list : kNoOffsets)
                            out.number(offset - std::exchange(before, offset));
                          out.flag(spans.meta_has_last);
                          out.text(spans.file_template);
                        },
                        [&](const PatchesNode& patches) {
                          write_files(out, patches.volumes);
                          write_numbers(out, patches.options.shape);
                          out.number(patches.options.samples_per_epoch.value_or(0));
                          write_numbers(out, patches.options.stride);
                          out.number(static_cast<std::uint64_t>(patches.options.edge));
                          out.number(std::bit_cast<std::uint64_t>(patches.options.fill));
                          out.flag(patches.options.skip_small);
                          out.flag(patches.options.draws == PatchDraws::kIndependent);
                          out.number(patches.options.balance.size());
                          for (const PatchClass& one : patches.options.balance) {
                            out.text(one.array);
                            out.flag(one.value.has_value());
                            write_whole(out, one.value.value_or(WholeNumber()));
                          }
                          out.number(patches.options.context.size());
                          for (const PatchContext& one : patches.options.context) {
                            out.text(one.array);
                            write_numbers(out, one.shape);
                          }
                        },
                        [&](const TokensNode& tokens) {
                          write_texts(out, tokens.paths);
                          out.text(tokens.dtype);
                          out.number(tokens.vocab_size);
                          out.flag(tokens.documents);
                        },
                        [&](const MixNode& mix) {
                          write_texts(out, mix.names);
                          for (const double weight : mix.weights) out.number(std::bit_cast<std::uint64_t>(weight));
                          out.number(std::bit_cast<std::uint64_t>(mix.options.temperature));
                          out.flag(mix.options.stop == MixStop::kAll);
                          out.number(mix.options.num_samples);
                        }},
             node.what);
  out.number(node.of.size());
  for (const auto& child : node.of) write_node(out, *child);
}

// ------------------------------------------------------------------------------------------------------------ reading

std::vector<std::string> read_texts(PackedReader& in) {
  std::vector<std::string> texts(in.count());
  for (std::string& text : texts) text = in.text();
  return texts;
}

RowsNode read_rows(PackedReader& in) {
  const std::uint64_t whole = in.number(), first = in.number();
  const std::string_view bytes = in.text();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;  // no list of rows: a part of a split may have billions
  if (bytes.size() % 8 != 0 || first > whole / kWordRows) in.fail();
  for (std::size_t i = 0; in.ok() && i < bytes.size(); ++i)
    for (std::uint64_t bit = 0; bit < 8; ++bit) {
      if ((static_cast<unsigned char>(bytes[i]) >> bit & 1) == 0) continue;
      const std::uint64_t row = first * kWordRows + i * 8 + bit;
      if (runs.empty() || runs.back().second != row) runs.emplace_back(row, row);
      ++runs.back().second;
    }
  if (runs.empty() || runs.back().second > whole) in.fail();
  return {in.ok() ? std::make_shared<const RowSet>(whole, std::span(std::as_const(runs))) : nullptr};
}

WholeNumber read_whole(PackedReader& in) {
  const bool is_negative = in.flag();
  const std::uint64_t bits = in.number();
  return is_negative ? WholeNumber(static_cast<std::int64_t>(bits)) : WholeNumber(bits);
}

std::vector<NumberColumn> read_columns(PackedReader& in) {
  std::vector<NumberColumn> columns;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    DType dtype;
    dtype.kind = static_cast<DType::Kind>(in.number_up_to(static_cast<std::uint64_t>(DType::Kind::kFloat)));
    dtype.itemsize = static_cast<std::uint32_t>(in.number_up_to(8));
    const std::string_view bytes = in.text();
    if (dtype.itemsize == 0 || bytes.size() % dtype.itemsize != 0) in.fail();
    if (in.ok()) columns.emplace_back(dtype, std::as_bytes(std::span(bytes)));
  }
  return columns;
}

Setting read_setting(PackedReader& in) {
  switch (in.number_up_to(std::variant_size_v<Setting> - 1)) {
    case 0:
      return in.flag();
    case 1:
      return in.signed_number();
    case 2:
      return std::bit_cast<double>(in.number());
    case 3:
      return std::string(in.text());
    case 4: {
      std::vector<double> values(in.count());
      for (double& value : values) value = std::bit_cast<double>(in.number());
      return values;
    }
    case 5:
      return read_texts(in);
    case 6: {
      std::vector<WholeNumber> values(in.count());
      for (WholeNumber& value : values) value = read_whole(in);
      return values;
    }
    default:
      return read_columns(in);
  }
}

MapNode read_transforms(PackedReader& in) {
  MapNode map;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    Transform& transform = map.transforms.emplace_back();
    transform.name = in.text();
    transform.fields = read_texts(in);
    for (std::size_t settings = in.count(); in.ok() && settings > 0; --settings) {
      const std::string name(in.text());
      transform.settings[name] = read_setting(in);
    }
  }
  if (map.transforms.empty()) in.fail();
  return map;
}

FilesNode read_files(PackedReader& in) {
  FilesNode files{read_texts(in), {}};
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string_view name = in.text(), path = in.text();
    files.options.fields.push_back({std::string(name), std::string(path)});
  }
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string text(in.text());
    files.options.companion_files[text] = read_texts(in);
  }
  return files;
}

PatchesNode read_patches(PackedReader& in) {
  PatchesNode patches{read_files(in), {}};
  PatchOptions& options = patches.options;
  const auto read_numbers = [&](std::vector<std::uint64_t>& numbers) {
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) numbers.push_back(in.number());
  };
  read_numbers(options.shape);
  if (const std::uint64_t samples = in.number()) options.samples_per_epoch = samples;
  read_numbers(options.stride);
  options.edge = static_cast<PatchEdge>(in.number_up_to(static_cast<std::uint64_t>(PatchEdge::kFill)));
  options.fill = std::bit_cast<double>(in.number());
  options.skip_small = in.flag();
  if (in.flag()) options.draws = PatchDraws::kIndependent;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    PatchClass& one = options.balance.emplace_back();
    one.array = in.text();
    const bool has_value = in.flag();
    const WholeNumber value = read_whole(in);
    if (has_value) one.value = value;
  }
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    PatchContext& one = options.context.emplace_back();
    one.array = in.text();
    read_numbers(one.shape);
  }
  return patches;
}

std::shared_ptr<const DataNode> read_node(PackedReader& in, int depth) {
  auto node = std::make_shared<DataNode>();
  if (depth > kMostDepth) in.fail();
  const std::uint64_t kind = in.number_up_to(std::variant_size_v<decltype(node->what)> - 1);
  if (!in.ok()) return node;
  if (kind == 0) {
    FilesNode files = read_files(in);
    constexpr std::uint64_t kMostAxes = 1 << 10;
    files.options.sample_axes = static_cast<std::uint32_t>(in.number_up_to(kMostAxes));
    files.options.nulls = static_cast<Nulls>(in.number_up_to(static_cast<std::uint64_t>(Nulls::kMask)));
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      const std::string name(in.text()), path(in.text());
      files.options.broadcast.push_back({name, path, static_cast<std::uint32_t>(in.number_up_to(kMostAxes))});
    }
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      const std::string_view name = in.text(), path = in.text();
      files.options.targets.push_back({std::string(name), std::string(path)});
    }
    node->what = std::move(files);
  } else if (kind == 1) {
    node->what = read_rows(in);
  } else if (kind == 2) {
    node->what = FieldsNode{read_texts(in)};
  } else if (kind == 4) {
    node->what = read_transforms(in);
  } else if (kind == 5) {
    WindowsNode windows;
    for (std::uint64_t* const n : {&windows.length, &windows.stride, &windows.lookahead}) *n = in.number();
    windows.across_files = in.flag();
    node->what = windows;
  } else if (kind == 6) {
    SpansNode spans;
    spans.kind = static_cast<SpansNode::Kind>(in.number_up_to(SpansNode::kMeta));
    spans.key_column = in.number();
    std::uint64_t offset = 0;
    std::vector<std::uint64_t> list;
    for (std::size_t left = in.count(); in.ok() && left > 0; --left) list.push_back(offset += in.number());
    spans.offset_list = std::make_shared<const std::vector<std::uint64_t>>(std::move(list));
    spans.meta_has_last = in.flag();
    spans.file_template = in.text();
    node->what = std::move(spans);
  } else if (kind == 7) {
    node->what = read_patches(in);
  } else if (kind == 8) {
    TokensNode tokens{read_texts(in)};
    tokens.dtype = in.text();
    tokens.vocab_size = in.number();
    tokens.documents = in.flag();
    node->what = std::move(tokens);
  } else {
    MixNode mix{read_texts(in), {}, {}};
    for (std::size_t i = 0; i < mix.names.size(); ++i) mix.weights.push_back(std::bit_cast<double>(in.number()));
    mix.options.temperature = std::bit_cast<double>(in.number());
    mix.options.stop = in.flag() ? MixStop::kAll : MixStop::kFirst;
    mix.options.num_samples = in.number();
    node->what = std::move(mix);
  }
  const std::size_t children = in.count();
  for (std::size_t i = 0; in.ok() && i < children; ++i) node->of.push_back(read_node(in, depth + 1));
  const auto* const mix = std::get_if<MixNode>(&node->what);
  const auto* const spans = std::get_if<SpansNode>(&node->what);
  const bool is_leaf = kind == 0 || kind == 7 || kind == 8;
  const std::size_t least = is_leaf ? 0 : mix ? mix->names.size() : spans && spans->kind != SpansNode::kList ? 2 : 1;
  if (children < least || children > least + (spans ? 1 : 0)) in.fail();
  return node;
}

// ---------------------------------------------------------------------------------------------------------- resolving

Dataset resolve_rows(const RowsNode& node, const Dataset& data) {
  const RowSet& chosen = *node.rows;
  const std::uint64_t last = chosen[chosen.size() - 1];
  if (last >= data.size())
    throw refuse(fmt::format("sample {} was selected of {} when the data set was pickled; its files now hold {}", last,
                             chosen.size_of_whole(), data.size()),
                 "Select again from the files as they are.");
  if (chosen.size_of_whole() == data.size() && !data.impl()->source.mixture()) return select_set(data, node.rows);
  std::vector<std::uint64_t> rows(chosen.size());  // the files hold more or fewer by now
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = chosen[i];
  return data.select(rows);
}

/// What the samples of a node are.
std::string_view sample_noun(const DataNode& node) {
  if (std::holds_alternative<WindowsNode>(node.what)) return "window";
  if (std::holds_alternative<SpansNode>(node.what)) return "span";
  if (std::holds_alternative<PatchesNode>(node.what)) return "patch";
  if (const auto* const tokens = std::get_if<TokensNode>(&node.what)) return tokens->documents ? "document" : "token";
  return node.of.empty() ? "row" : sample_noun(*node.of[0]);
}

}  // namespace

std::string text_of(const DataNode& node) {
  const auto below = [&] { return text_of(*node.of[0]); };
  return std::visit(
      Overloaded{[&](const FilesNode& files) { return counted(files.paths.size(), "file"); },
                 [&](const RowsNode& rows) {
                   return fmt::format("{} → {}", below(), counted(rows.rows->size(), sample_noun(*node.of[0])));
                 },
                 [&](const FieldsNode& fields) {
                   return fmt::format("{} → field{} {}", below(), fields.names.size() == 1 ? "" : "s",
                                      fmt::join(fields.names, ", "));
                 },
                 [&](const MapNode& map) {
                   std::string text = below();
                   for (const Transform& transform : map.transforms) text += " → " + transform.text();
                   return text;
                 },
                 [&](const WindowsNode& windows) {
                   std::string text = fmt::format("{} → windows of {}", below(), windows.length);
                   if (windows.lookahead) text += fmt::format(" + {}", windows.lookahead);
                   text += fmt::format(" row{}", plural(windows.length + windows.lookahead));
                   if (windows.stride != windows.length) text += fmt::format(" every {}", windows.stride);
                   return text + (windows.across_files ? " across files" : "");
                 },
                 [&](const SpansNode& spans) {
                   return fmt::format("{} → spans by {}", below(),
                                      spans.kind == SpansNode::kKey    ? "a key"
                                      : spans.kind == SpansNode::kMeta ? "a table"
                                                                       : "offsets");
                 },
                 [&](const PatchesNode& patches) {
                   const PatchOptions& o = patches.options;
                   std::string text = fmt::format("{} → patches of {}", counted(patches.volumes.paths.size(), "volume"),
                                                  fmt::join(o.shape, " x "));
                   if (o.samples_per_epoch) return text + fmt::format(", {} drawn", group_digits(*o.samples_per_epoch));
                   return text + fmt::format(" every {}", fmt::join(o.stride, " x "));
                 },
                 [&](const TokensNode& tokens) {
                   return counted(tokens.paths.size(), "file") +
                          (tokens.documents ? " of tokens → documents" : " of tokens");
                 },
                 [&](const MixNode& mix) {
                   std::string text;
                   for (std::size_t i = 0; i < node.of.size(); ++i)
                     text += fmt::format("{}{} ({})", i ? ", " : "", mix.names[i], text_of(*node.of[i]));
                   return "mix of " + text;
                 }},
      node.what);
}

std::string recipe_of(const DataNode& node) {
  PackedWriter out;
  out.text(kRecipe);
  write_node(out, node);
  return out.take();
}

Result<std::shared_ptr<const DataNode>> node_of_recipe(std::string_view recipe) {
  PackedReader in(recipe);
  if (in.text() != kRecipe)
    return Error(ErrorCode::kInvalidArgument, "this is no data set that this version of headrace has pickled")
        .with_hint("Open the files again.");
  std::shared_ptr<const DataNode> node = read_node(in, 0);
  if (!in.complete())
    return Error(ErrorCode::kInvalidArgument, "the pickled data set is damaged").with_hint("Open the files again.");
  return node;
}

Dataset resolve(const DataNode& node) {
  return std::visit(
      Overloaded{
          [&](const FilesNode& files) { return open(files.paths, files.options); },
          [&](const RowsNode& rows) { return resolve_rows(rows, resolve(*node.of[0])); },
          [&](const FieldsNode& fields) { return resolve(*node.of[0]).choose(fields.names); },
          [&](const MapNode& map) { return resolve(*node.of[0]).map(map.transforms); },
          [&](const WindowsNode& w) {
            return windows(resolve(*node.of[0]), {w.length, w.stride, w.lookahead, w.across_files});
          },
          [&](const SpansNode& s) {
            SpanOptions options;
            const bool is_listed = s.kind == SpansNode::kList;
            if (!is_listed)
              (s.kind == SpansNode::kKey    ? options.key
               : s.kind == SpansNode::kMeta ? options.meta
                                            : options.offsets) = resolve(*node.of[1]);
            options.meta_has_last = s.meta_has_last;
            options.file_template = s.file_template;
            if (s.offset_list) options.offset_list = *s.offset_list;
            if (s.key_column > 0) options.key_column = s.key_column - 1;
            if (const std::size_t own = is_listed ? 1 : 2; node.of.size() > own)
              options.targets = resolve(*node.of[own]);
            return spans(resolve(*node.of[0]), options);
          },
          [&](const PatchesNode& p) { return patches(open_volumes(p.volumes.paths, p.volumes.options), p.options); },
          [&](const TokensNode& t) {
            const Tokens opened = open_tokens(t.paths, {t.dtype, t.vocab_size});
            return t.documents ? opened.documents() : opened.rows();
          },
          [&](const MixNode& node_of_mix) {
            std::vector<MixPart> parts;
            for (std::size_t i = 0; i < node.of.size(); ++i)
              parts.push_back({node_of_mix.names[i], resolve(*node.of[i]), node_of_mix.weights[i]});
            return mix(parts, node_of_mix.options);
          }},
      node.what);
}

std::string Dataset::recipe() const {
  if (!impl_->node)
    throw Error(ErrorCode::kUnsupported, "a data set that was made in memory cannot be pickled: no file holds it");
  return recipe_of(*impl_->node);
}

Dataset open_recipe(const std::string& recipe) {
  return resolve(*node_of_recipe(recipe).value());
}

}  // namespace headrace
