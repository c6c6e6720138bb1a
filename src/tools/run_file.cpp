// Run files: the words of the options, in YAML. docs/run-files.md is the page for users; it and this schema agree.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/base/bytes.h>
#include <headrace/tools/tools.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/nearest_name.h"
#include "tools/yaml_tree.h"

namespace headrace {
namespace {

constexpr std::streamoff kMaxFileBytes = 1 << 20;

Error bad(const YamlNode& node, const std::string& key, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("line {}: {}: {}", node.line, key, what));
}

std::string found(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      return "'" + node.text + "'";
  }
  return "nothing";
}

Result<std::string> as_text(const YamlNode& node, const std::string& key) {
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty())
    return bad(node, key, fmt::format("text is expected, {} was found", found(node)));
  return node.text;
}

Result<std::uint64_t> as_number(const YamlNode& node, const std::string& key) {
  std::uint64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const bool plain = node.kind == YamlNode::Kind::kScalar && !node.text.empty();
  const auto [stop, ec] = std::from_chars(node.text.data(), end, value);
  if (!plain || ec != std::errc() || stop != end)
    return bad(node, key, fmt::format("a whole number is expected, {} was found", found(node)));
  if (node.text.size() > 1 && node.text[0] == '0')  // 010 is eight to some readers of YAML
    return bad(node, key, fmt::format("a number does not begin with 0, '{}' was found", node.text));
  return value;
}

Result<bool> as_bool(const YamlNode& node, const std::string& key) {
  if (node.kind == YamlNode::Kind::kScalar && !node.quoted) {
    if (node.text == "true" || node.text == "True") return true;
    if (node.text == "false" || node.text == "False") return false;
  }
  return bad(node, key, fmt::format("true or false is expected, {} was found", found(node)));
}

std::string known_keys(const std::string& key, const std::vector<std::string>& names) {
  const std::optional<std::string> meant = did_you_mean(key, names);
  return fmt::format("{}There are: {}.", meant ? fmt::format("Did you mean {}? ", *meant) : "",
                     fmt::join(nearest_names(key, names), ", "));
}

/// The keys of one section and what to do with each value.
using Keys = std::map<std::string, std::function<Status(const YamlNode&, const std::string&)>>;

Status walk(const YamlNode& node, const std::string& section, const Keys& keys) {
  const std::string prefix = section.empty() ? "" : section + ".";
  if (node.kind != YamlNode::Kind::kMap)
    return bad(node, section.empty() ? "run file" : section,
               fmt::format("a map of keys and values is expected, {} was found", found(node)));
  std::vector<std::string> names;
  for (const auto& [name, ignored] : keys) names.push_back(name);
  std::map<std::string, int> seen;
  for (const auto& [key, value] : node.entries) {
    const auto known = keys.find(key.text);
    if (known == keys.end()) {
      Error error = bad(key, prefix + key.text, "there is no such key");
      return error.with_hint(known_keys(key.text, names));
    }
    const auto [first, fresh] = seen.emplace(key.text, key.line);
    if (!fresh) return bad(key, prefix + key.text, fmt::format("given twice, first on line {}", first->second));
    if (value.kind == YamlNode::Kind::kNull) return bad(key, prefix + key.text, "a value is missing");
    HEADRACE_TRY(known->second(value, prefix + key.text));
  }
  return {};
}

/// A word of the loader that is known, and of which this version takes one value only.
auto only(std::string taken, std::string why) {
  return [taken = std::move(taken), why = std::move(why)](const YamlNode& node, const std::string& key) -> Status {
    if (node.kind == YamlNode::Kind::kScalar && node.text == taken) return {};
    return bad(node, key, fmt::format("this version takes {} only, {} was found: {}", taken, found(node), why));
  };
}
auto never(std::string why) {
  return [why = std::move(why)](const YamlNode& node, const std::string& key) -> Status {
    return bad(node, key, "not in a run file of this version: " + why);
  };
}

Status read_fields(const YamlNode& node, const std::string& key, std::vector<FieldChoice>& fields) {
  std::set<std::string> names;
  const auto add = [&](const YamlNode& at, std::string name, std::string path) -> Status {
    if (!names.insert(name).second) return bad(at, key, fmt::format("the field '{}' is given twice", name));
    fields.push_back({std::move(name), std::move(path)});
    return {};
  };
  if (node.kind == YamlNode::Kind::kMap) {
    for (const auto& [name, path] : node.entries) {
      HEADRACE_ASSIGN(std::string text, as_text(path, key + "." + name.text));
      HEADRACE_TRY(add(name, name.text, std::move(text)));
    }
  } else if (node.kind == YamlNode::Kind::kList) {
    for (const YamlNode& item : node.items) {
      HEADRACE_ASSIGN(const std::string text, as_text(item, key));
      HEADRACE_TRY(add(item, text, text));
    }
  } else {
    return bad(node, key,
               fmt::format("a map of names and paths, or a list of paths, is expected; {} was found", found(node)));
  }
  if (fields.empty()) return bad(node, key, "no field is chosen");
  return {};
}

/// A path of a run file means the same wherever the program was started: it starts at the run file.
std::string beside(const std::string& run_file, const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  const std::string directory = std::filesystem::path(run_file).parent_path().string();
  if (directory.empty()) return path;
  if (path.find_first_of("*?[") == std::string::npos) return directory + "/" + path;
  std::string literal;  // the directory's own name is no pattern
  for (const char c : directory)
    literal += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string{c};
  return literal + "/" + path;
}

Status read_files(const YamlNode& node, const std::string& key, const std::string& run_file,
                  std::vector<std::string>& files) {
  if (node.kind != YamlNode::Kind::kList) {
    HEADRACE_ASSIGN(const std::string text, as_text(node, key));
    files.push_back(beside(run_file, text));
    return {};
  }
  for (const YamlNode& item : node.items) {
    HEADRACE_ASSIGN(const std::string text, as_text(item, key));
    files.push_back(beside(run_file, text));
  }
  if (files.empty()) return bad(node, key, "the list is empty");
  return {};
}

Status read_shuffle(const YamlNode& node, const std::string& key, Shuffle& shuffle) {
  if (node.kind == YamlNode::Kind::kScalar && node.text == "block") return shuffle = Shuffle::kBlock, Status();
  if (node.kind == YamlNode::Kind::kScalar && node.text == "exact") return shuffle = Shuffle::kExact, Status();
  const Result<bool> on = as_bool(node, key);
  if (!on.ok())
    return bad(node, key, fmt::format("true, false, block or exact is expected, {} was found", found(node)));
  shuffle = *on;
  return {};
}

/// Keys of `loader:`. batch_size, tail and drop_last are kept apart until all is read: they may contradict each other.
class LoaderSection {
 public:
  explicit LoaderSection(std::string run_file) : run_file_(std::move(run_file)) {}
  Status read(const YamlNode& node, LoaderOptions& options) {
    HEADRACE_TRY(walk(node, "loader", keys(options)));
    if (batch_size_ && global_batch_size_)
      return bad(node, "loader", "batch_size and global_batch_size are both given: give one");
    if (!batch_size_ && !global_batch_size_) return bad(node, "loader", "batch_size is missing");
    options.batch_size = batch_size_.value_or(0);
    options.global_batch_size = global_batch_size_.value_or(0);
    if (options.batch_size == 0 && options.global_batch_size == 0)
      return bad(node, "loader.batch_size", "at least 1 is expected");
    if (rank_.has_value() != world_size_.has_value())
      return bad(node, "loader", "rank and world_size: give both or neither");
    if (rank_)
      options.rank = static_cast<std::uint32_t>(*rank_), options.world_size = static_cast<std::uint32_t>(*world_size_);
    if (drop_last_ && tail_ && (*drop_last_ != (*tail_ == Tail::kDrop)))
      return bad(node, "loader", "drop_last and tail contradict each other: give one");
    options.tail = tail_ ? *tail_ : drop_last_.value_or(false) ? Tail::kDrop : Tail::kPartial;
    return {};
  }

 private:
  using Handler = std::function<Status(const YamlNode&, const std::string&)>;
  template <class T>
  static Handler number(std::optional<T>& out) {
    return [&out](const YamlNode& node, const std::string& key) -> Status {
      HEADRACE_ASSIGN(out, as_number(node, key));
      return {};
    };
  }

  Keys keys(LoaderOptions& options) {
    Keys keys;
    keys["batch_size"] = number(batch_size_);
    keys["global_batch_size"] = number(global_batch_size_);
    keys["shuffle"] = [&](const YamlNode& n, const std::string& k) { return read_shuffle(n, k, options.shuffle); };
    keys["seed"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(options.seed, as_number(n, k));
      return {};
    };
    keys["memory"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(const std::string text, as_text(n, k));
      try {
        options.memory = parse_bytes(text);
      } catch (const Error& error) {
        return bad(n, k, error.message()).with_hint(error.hint());
      }
      return options.memory > 0 ? Status() : bad(n, k, "more than 0 bytes are expected");
    };
    keys["threads"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(const std::uint64_t threads, as_number(n, k));
      if (threads < 1 || threads > 4096) return bad(n, k, fmt::format("1 to 4096 are expected, {} was found", threads));
      options.threads = static_cast<std::uint32_t>(threads);
      return {};
    };
    keys["drop_last"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(drop_last_, as_bool(n, k));
      return {};
    };
    keys["tail"] = [&](const YamlNode& n, const std::string& k) -> Status {
      if (n.text == "partial") return tail_ = Tail::kPartial, Status();
      if (n.text == "drop") return tail_ = Tail::kDrop, Status();
      if (n.text == "pad") return tail_ = Tail::kPad, Status();
      return bad(n, k, fmt::format("partial, drop or pad is expected, {} was found", found(n)));
    };
    keys["timeout"] = [&](const YamlNode& n, const std::string& k) -> Status {
      double seconds = 0;
      const char* end = n.text.data() + n.text.size();
      const auto [stop, ec] = std::from_chars(n.text.data(), end, seconds);
      if (n.kind != YamlNode::Kind::kScalar || ec != std::errc() || stop != end || !(seconds > 0) || seconds > 1e9)
        return bad(n, k, fmt::format("seconds are expected, {} was found", found(n)));
      options.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
      return {};
    };
    keys["cache"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(const std::string text, as_text(n, k));
      try {
        options.cache = CacheChoice::parse(text.find('/') == std::string::npos ? text : beside(run_file_, text));
      } catch (const Error& error) {
        return bad(n, k, error.message()).with_hint(error.hint());
      }
      return {};
    };
    keys["shared_memory"] = [&](const YamlNode& n, const std::string& k) -> Status {
      if (n.text != "host") return bad(n, k, fmt::format("host is expected, {} was found", found(n)));
      options.share_on_host = true;
      return {};
    };
    keys["rank"] = number(rank_);
    keys["world_size"] = number(world_size_);
    keys["mix"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(const std::string text, as_text(n, k));
      try {
        options.mix.bytes = parse_bytes(text);
      } catch (const Error& error) {
        return bad(n, k, error.message()).with_hint(error.hint());
      }
      return options.mix.bytes > 0 ? Status() : bad(n, k, "more than 0 bytes are expected");
    };
    keys["provenance"] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(options.provenance, as_bool(n, k));
      return {};
    };
    keys["framework"] = only("numpy", "choose it in Python: hr.Loader(..., framework=...)");
    keys["device"] = only("cpu", "batches are delivered to the host");
    keys["batch_format"] = only("dict", "choose it in Python: hr.Loader(..., batch_format=...)");
    keys["on_error"] = only("raise", "bad data are never skipped");
    keys["sampler"] = never("an order of one's own is given in code");
    keys["batch_sampler"] = never("an order of one's own is given in code");
    return keys;
  }

  const std::string run_file_;
  std::optional<std::uint64_t> batch_size_, global_batch_size_, rank_, world_size_;
  std::optional<bool> drop_last_;
  std::optional<Tail> tail_;
};

Result<std::string> read_text(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return Error(ErrorCode::kInvalidArgument, "this is a directory, a run file is expected");
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) {
    if (std::filesystem::exists(path, failed)) return Error(ErrorCode::kPermission, "this run file may not be read");
    return Error(ErrorCode::kNotFound, "there is no such run file");
  }
  const std::streamoff size = stream.tellg();
  if (size > kMaxFileBytes)
    return Error(ErrorCode::kInvalidArgument, fmt::format("{} bytes are too many for a run file", size));
  stream.seekg(0);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) return Error(ErrorCode::kReadFailed, "reading the run file failed");
  return text;
}

Result<RunConfig> parse_run(const std::string& path) {
  HEADRACE_ASSIGN(const std::string text, read_text(path));
  HEADRACE_ASSIGN(const YamlNode root, parse_yaml(text));
  RunConfig run;
  bool has_loader = false;
  Keys data_keys;
  data_keys["files"] = [&](const YamlNode& n, const std::string& k) { return read_files(n, k, path, run.files); };
  data_keys["fields"] = [&](const YamlNode& n, const std::string& k) { return read_fields(n, k, run.open.fields); };
  Keys keys;
  keys["data"] = [&](const YamlNode& n, const std::string& k) { return walk(n, k, data_keys); };
  keys["loader"] = [&](const YamlNode& n, const std::string&) {
    has_loader = true;
    return LoaderSection(path).read(n, run.loader);
  };
  if (root.kind == YamlNode::Kind::kNull)
    return Error(ErrorCode::kInvalidArgument, "the run file is empty: data and loader are expected");
  HEADRACE_TRY(walk(root, "", keys));
  if (run.files.empty()) return Error(ErrorCode::kInvalidArgument, "data.files is missing");
  if (!has_loader) return Error(ErrorCode::kInvalidArgument, "loader is missing: at least batch_size is needed");
  return run;
}

}  // namespace

RunConfig load_run(const std::string& path) {
  Result<RunConfig> run = parse_run(path);
  if (!run.ok()) throw run.error().with_file(path).with_stage("run file");
  return std::move(*run);
}

}  // namespace headrace
