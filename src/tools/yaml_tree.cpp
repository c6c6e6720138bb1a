#include "tools/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

namespace headrace {
namespace {

constexpr std::size_t kMaxYamlBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxNodes = 100000;

Error refuse(int line, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, line > 0 ? fmt::format("line {}: {}", line, what) : what);
}

/// Builds the tree. yaml-cpp has exceptions only, so this throws Error; parse_yaml() catches.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw refuse(mark.line + 1, "aliases (*name) are not taken here: write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node(YamlNode::Kind::kNull, mark, "", anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode scalar = node(YamlNode::Kind::kScalar, mark, tag, anchor);
    scalar.text = value;
    scalar.quoted = tag == "!";
    if (!scalar.quoted && (value == "~" || value == "null" || value.empty())) scalar.kind = YamlNode::Kind::kNull;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(node(YamlNode::Kind::kList, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    bool has_key = false;
    YamlNode key;
  };

  YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const int line = mark.line + 1;
    if (anchor != YAML::NullAnchor) throw refuse(line, "anchors (&name) are not taken here: write the value out");
    if (!tag.empty() && tag != "?" && tag != "!") throw refuse(line, fmt::format("the tag {} is not taken here", tag));
    if (++nodes_ > kMaxNodes) throw refuse(line, fmt::format("more than {} values", kMaxNodes));
    YamlNode made;
    made.kind = kind;
    made.line = line;
    return made;
  }

  void open(YamlNode made) {
    if (open_.size() >= kMaxDepth) throw refuse(made.line, fmt::format("nested deeper than {} levels", kMaxDepth));
    open_.push_back({std::move(made), false, {}});
  }
  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }
  void add(YamlNode made) {
    if (open_.empty()) {
      root_ = std::move(made);
      return;
    }
    Open& top = open_.back();
    if (top.node.kind == YamlNode::Kind::kList) {
      top.node.items.push_back(std::move(made));
    } else if (!top.has_key) {
      if (made.kind != YamlNode::Kind::kScalar) throw refuse(made.line, "a key must be a word");
      top.key = std::move(made);
      top.has_key = true;
    } else {
      top.node.entries.push_back({std::move(top.key), std::move(made)});
      top.has_key = false;
    }
  }

  YamlNode root_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<YamlNode> parse_yaml(const std::string& text) {
  if (text.size() > kMaxYamlBytes) return refuse(0, fmt::format("larger than {} bytes", kMaxYamlBytes));
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    YamlNode root = builder.take();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) return refuse(0, "more than one document (---)");
    return root;
  } catch (const Error& error) {
    return error;
  } catch (const YAML::Exception& error) {
    return refuse(error.mark.line + 1, error.msg);
  }
}

}  // namespace headrace
