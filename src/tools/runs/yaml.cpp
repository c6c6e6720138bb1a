#include "tools/runs/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/text/utf8.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 1000000;

Error refuse(int line, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, line > 0 ? fmt::format("line {}: {}", line, what) : what);
}

/// True if a key is longer than YAML's readers take.
bool is_long_key(const std::string& key) {
  constexpr std::size_t kMostKeyBytes = 500;  // 1024 characters, some of which are written as six
  return flow_text({key}).size() > kMostKeyBytes;
}

/// Builds values. yaml-cpp has exceptions only, so this throws Error; parse_yaml() catches.
class ValueBuilder : public YAML::EventHandler {
 public:
  /// \param utf8 Whether the text that is read is UTF-8: its values are then, too.
  explicit ValueBuilder(bool utf8) : utf8_(utf8) {}
  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw refuse(mark.line + 1, "aliases (*name) are not taken here: write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(value_at(mark, "", anchor)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (utf8_ && !is_utf8(text))  // yaml-cpp makes one byte of them
      throw refuse(mark.line + 1, R"(the escapes \N and \_ are not taken here: write \u0085 and \u00a0)");
    Value scalar = value_at(mark, tag, anchor);
    scalar.plain = tag != "!";
    if (!scalar.plain || (text != "~" && text != "null" && !text.empty())) scalar.is = text;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(value_at(mark, tag, anchor)).is = ValueList();
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(value_at(mark, tag, anchor)).is = ValueMap();
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value value;
    std::optional<Value> key;
  };

  Value value_at(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const int line = mark.line + 1;
    if (anchor != YAML::NullAnchor) throw refuse(line, "anchors (&name) are not taken here: write the value out");
    if (!tag.empty() && tag != "?" && tag != "!") throw refuse(line, fmt::format("the tag {} is not taken here", tag));
    if (++values_ > kMaxValues) throw refuse(line, fmt::format("more than {} values", kMaxValues));
    Value made;
    made.line = line;
    return made;
  }

  Value& open(Value made) {
    if (open_.size() >= kMaxDepth) throw refuse(made.line, fmt::format("nested deeper than {} levels", kMaxDepth));
    return open_.emplace_back(Open{std::move(made), {}}).value;
  }
  void close() {
    Value done = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(done));
  }
  void add(Value made) {
    if (open_.empty()) {
      root_ = std::move(made);
      return;
    }
    Open& top = open_.back();
    if (auto* const list = std::get_if<ValueList>(&top.value.is)) {
      list->push_back(std::move(made));
    } else if (!top.key) {
      if (!made.text()) throw refuse(made.line, "a key must be a word");
      if (is_long_key(*made.text()))
        throw refuse(made.line, "a name is too long: it could not be written into a run file again");
      top.key = std::move(made);
    } else {
      std::get<ValueMap>(top.value.is).push_back({*top.key->text(), std::move(made), top.key->line});
      top.key.reset();
    }
  }

  const bool utf8_;
  Value root_;
  std::vector<Open> open_;
  std::size_t values_ = 0;
};

constexpr std::size_t kLineWidth = 90;  // characters of a value that goes on one line
constexpr std::size_t kShortText = 20;  // characters of a text that shares its line with others

/// Count a value and all in it, as the reader does; keys too.
std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  if (const ValueList* const list = value.list())
    for (const Value& one : *list) count += count_values(one);
  if (const ValueMap* const map = value.map())
    for (const ValueEntry& one : *map) count += 1 + count_values(one.value);
  return count;
}

bool has_long_key(const Value& value) {
  if (const ValueList* const list = value.list()) return std::ranges::any_of(*list, has_long_key);
  const ValueMap* const map = value.map();
  return map && std::ranges::any_of(
                    *map, [](const ValueEntry& one) { return is_long_key(one.key) || has_long_key(one.value); });
}

bool is_utf8_throughout(const Value& value) {
  if (const std::string* const text = value.text()) return is_utf8(*text);
  if (const ValueList* const list = value.list()) return std::ranges::all_of(*list, is_utf8_throughout);
  if (const ValueMap* const map = value.map())
    return std::ranges::all_of(*map,
                               [](const ValueEntry& one) { return is_utf8(one.key) && is_utf8_throughout(one.value); });
  return true;
}

/// True for what gets a line of its own in a list.
bool is_a_line(const Value& value) {
  return value.list() || value.map() || (value.text() && value.text()->size() > kShortText);
}

/// A long list of short values, line by line.
std::string short_values_text(const ValueList& list, std::size_t indent) {
  std::string text = " [", line;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string one = flow_text(list[i]) + (i + 1 < list.size() ? ", " : "]\n");
    if (line.size() + one.size() > kLineWidth) {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += one;
  }
  return text + line;
}

std::string lines_of(const std::string& key, const Value& value, std::size_t indent) {
  const std::string begin = std::string(indent, ' ') + key + ":", flow = flow_text(value);
  const ValueList* const list = value.list();
  const ValueMap* const map = value.map();
  const bool is_long = flow.size() > kLineWidth || (list && list->size() > 1 && is_a_line((*list)[0]));
  const bool goes_down = (map && !map->empty() && (indent == 0 || is_long)) || (list && !list->empty() && is_long);
  if (!goes_down) return begin + " " + flow + "\n";
  std::string text = begin + "\n";
  if (map)
    for (const ValueEntry& one : *map) {
      const std::string whole = flow_text({ValueMap{{one.key, {}, 0}}});  // "{key: null}"
      text += lines_of(whole.substr(1, whole.size() - std::string_view("{: null}").size()), one.value, indent + 2);
    }
  if (!list) return text;
  if (std::ranges::none_of(*list, is_a_line)) return begin + short_values_text(*list, indent + 2);
  for (const Value& one : *list) text += std::string(indent + 2, ' ') + "- " + flow_text(one) + "\n";
  return text;
}

}  // namespace

Result<Value> parse_yaml(const std::string& text) {
  if (text.size() > kMaxYamlBytes) return refuse(0, fmt::format("larger than {} bytes", kMaxYamlBytes));
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    const bool utf8 = is_utf8(text);
    ValueBuilder builder(utf8);
    if (!parser.HandleNextDocument(builder)) return Value{};
    Value root = builder.take();
    ValueBuilder second(utf8);
    if (parser.HandleNextDocument(second)) return refuse(0, "more than one document (---)");
    return root;
  } catch (const Error& error) {
    return error;
  } catch (const YAML::Exception& error) {
    return refuse(error.mark.line + 1, error.msg);
  }
}

Result<std::string> yaml_text(const std::string& key, const Value& value, std::size_t indent) {
  if (!is_utf8_throughout(value))
    return refuse(0, fmt::format("{} has a text that is not UTF-8, which a run file cannot hold", key))
        .with_hint("Give the file a name in UTF-8.");
  if (const std::size_t values = count_values(value); values > kMaxValues / 2)
    return refuse(0,
                  fmt::format("{} would have {} values, and a run file is read up to {}", key, values, kMaxValues / 2))
        .with_hint(
            "Say selected samples by split(), which takes one line; join large tables after "
            "load_run().");
  if (has_long_key(value)) return refuse(0, fmt::format("{} has a name that is too long for a run file", key));
  return lines_of(key, value, indent);
}

}  // namespace headrace
