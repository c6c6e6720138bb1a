#include "dataset/files/file_lists.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataset/files/paths.h"

namespace headrace {
namespace {

constexpr std::string_view kDivider = "::";
constexpr std::size_t kNamesShown = 3;  // of a list, in a message

std::string first_of(const std::vector<std::string>& paths) {
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kNamesShown); ++i) text += (i == 0 ? "" : ", ") + paths[i];
  if (paths.size() > kNamesShown) text += fmt::format(" and {} more", paths.size() - kNamesShown);
  return text;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> divide_path(const std::string& text) {
  const std::size_t at = text.find(kDivider);
  if (at == std::string::npos) return std::nullopt;
  return std::pair{text.substr(0, at), text.substr(at + kDivider.size())};
}

FileLists::FileLists(std::vector<std::string> own, std::map<std::string, std::vector<std::string>> beside,
                     std::optional<IndexStore> store)
    : beside_(std::move(beside)), store_(std::move(store)) {
  lists_.emplace_back(std::move(own), store_);
}

Result<std::uint32_t> FileLists::add(const std::string& files) {
  const auto known = beside_.find(files);
  HEADRACE_ASSIGN(std::vector<std::string> paths,
                  expand_paths(known == beside_.end() ? std::vector<std::string>{files} : known->second));
  for (std::uint32_t list = 1; list < num_lists(); ++list)
    if (lists_[list].paths == paths) return list;
  const std::vector<std::string>& own = lists_[0].paths;
  if (paths.size() != own.size())
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format(
                     "'{}' stands for {} file{}, and the data set has {}: each needs one of its own:\n  {}\n  {}",
                     files, paths.size(), paths.size() == 1 ? "" : "s", own.size(), first_of(paths), first_of(own)))
        .with_file(paths[0])
        .with_hint("In FILES::PATH, name one file for each file of the data set, in their order.");
  lists_.emplace_back(std::move(paths), store_);
  return num_lists() - 1;
}

Result<std::shared_ptr<const FormatReader>> FileLists::open(std::uint32_t list, std::size_t file) {
  List& from = lists_[list];
  if (file == 0 && from.first) return from.first;
  HEADRACE_ASSIGN(std::shared_ptr<const FormatReader> reader, from.index.open(file));
  if (file == 0) from.first = reader;
  return reader;
}

void FileLists::learn(std::uint32_t list, std::size_t file, const FormatReader& reader,
                      std::span<const std::shared_ptr<ArrayReader>> arrays) {
  lists_[list].index.learn(file, reader, arrays);
}

void FileLists::save() const {
  for (const List& list : lists_) list.index.save();
}

}  // namespace headrace
