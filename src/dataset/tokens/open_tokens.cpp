// open_tokens(): files of token numbers, as rows and as documents.
#include <fmt/format.h>
#include <headrace/tokens.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/files/open_several.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/span_lister.h"
#include "dataset/samples/span_samples.h"
#include "dataset/tokens/token_paths.h"
#include "format/tokens/token_file.h"
#include "format/tokens/token_type.h"

namespace headrace {

using token_files::FileKind;
using token_files::TokenFile;

struct Tokens::Impl {
  Dataset rows;
  std::vector<TokenFile> files;  ///< As those of `rows`.
};

namespace {

constexpr std::array<std::string_view, 5> kKinds{"raw", "npy", "megatron", "datatrove", "headrace"};

std::string_view kind_name(FileKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

token_files::TokenWords words_of(const TokenOptions& options) {
  token_files::TokenWords words;
  words.vocab_size = options.vocab_size;
  if (options.dtype.empty()) return words;
  words.dtype = token_files::token_type(options.dtype);
  if (!words.dtype)
    throw refuse(fmt::format("dtype '{}' is no type of tokens", options.dtype),
                 "Such as \"u2\" or \"uint16\", \"u4\" or \"uint32\": little-endian whole numbers.");
  return words;
}

/// Refuse a file whose tokens are of another type, or another vocabulary's, than those of the first.
Status check_like_first(const TokenFile& first, const TokenFile& file) {
  const auto differ = [&](std::string what) {
    return Error(ErrorCode::kInvalidArgument, what + " in " + first.path)
        .with_file(file.path)
        .with_hint("Files of one data set must agree; open those that differ apart, and mix them.");
  };
  if (file.dtype != first.dtype)
    return differ(fmt::format("tokens are {} here, but {}", file.dtype.name(), first.dtype.name()));
  if (file.vocab_size != first.vocab_size)
    return differ(fmt::format("the vocabulary has {} ids here, but {}", file.vocab_size, first.vocab_size));
  const bool both_hashes = !file.tokenizer_hash.empty() && !first.tokenizer_hash.empty();
  if (both_hashes && file.tokenizer_hash != first.tokenizer_hash)
    return differ(fmt::format("the tokenizer is {} (hash {}) here, but {} (hash {})", file.tokenizer,
                              file.tokenizer_hash, first.tokenizer, first.tokenizer_hash));
  if (!both_hashes && !file.tokenizer.empty() && !first.tokenizer.empty() && file.tokenizer != first.tokenizer)
    return differ(fmt::format("the tokenizer is {} here, but {}", file.tokenizer, first.tokenizer));
  return {};
}

Result<std::vector<TokenFile>> open_files(const std::vector<std::string>& paths, const TokenOptions& options) {
  const token_files::TokenWords words = words_of(options);
  token_files::Manifests manifests;
  std::vector<TokenFile> files;
  struct Opened {
    TokenFile file;
    token_files::Manifests manifests;
  };
  const auto open = [&](std::size_t i) -> Result<Opened> {
    Opened opened{{}, manifests};
    HEADRACE_ASSIGN(opened.file, token_files::open_token_file(paths[i], words, opened.manifests));
    return opened;
  };
  const auto take = [&](std::size_t i, Opened opened) -> Status {
    manifests.merge(opened.manifests);
    files.push_back(std::move(opened.file));
    HEADRACE_TRY(check_like_first(files[0], files.back()));
    if (options.check && files.back().vocab_size == 0 && files.back().checksums.empty())
      return Error(ErrorCode::kInvalidArgument,
                   "check=True needs the size of the vocabulary, and the file does not record it")
          .with_file(paths[i])
          .with_hint("Give vocab_size= as well.");
    const auto go_on = [&] { return !options.progress || options.progress(files.size() - 1, paths.size()); };
    if (options.check) {
      for (const token_files::FileChecksum& one : files.back().checksums)
        HEADRACE_TRY(token_files::check_file(one, [&](std::uint64_t) { return go_on(); }));
      HEADRACE_TRY(token_files::check_ids(files.back(), {0, files.back().tokens()}, go_on));
    }
    if (options.progress && !options.progress(files.size(), paths.size()))
      return Error(ErrorCode::kCancelled, fmt::format("stopped after {} of {} files", files.size(), paths.size()));
    return {};
  };
  HEADRACE_TRY(open_several<Opened>(paths.size(), paths[0], open, take));
  return files;
}

Dataset open_rows(const std::vector<TokenFile>& files, const TokensNode& node) {
  auto source = std::make_shared<Source>();
  FileNotes notes;
  std::size_t doubts = 0;
  for (const TokenFile& file : files) {
    source->files.push_back({file.path, file.tokens(), file.fingerprint, {file.array}});
    if (!file.notice.empty() && doubts++ == 0) notes.notices.push_back(fmt::format("{}: {}", file.path, file.notice));
  }
  if (doubts > 1) notes.notices[0] += fmt::format(" (the first of {} such files)", doubts);
  source->notes = std::make_shared<const FileNotes>(std::move(notes));
  source->set_columns({{token_files::kTokensName, token_files::kTokensName, files[0].dtype, {}}});
  source->places = {{0, 0}};
  return Dataset(Dataset::Impl::make(std::move(source), node_of(node)));
}

}  // namespace

Tokens::Tokens(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
std::uint64_t Tokens::size() const {
  return impl_->rows.size();
}
DType Tokens::dtype() const {
  return impl_->files[0].dtype;
}
std::uint64_t Tokens::vocab_size() const {
  return impl_->files[0].vocab_size;
}
const Dataset& Tokens::rows() const {
  return impl_->rows;
}

std::optional<std::uint64_t> Tokens::num_documents() const {
  std::uint64_t documents = 0;
  for (const TokenFile& file : impl_->files) {
    if (file.documents == nullptr) return std::nullopt;
    documents += file.documents->size();
  }
  return documents;
}

std::string Tokens::kind() const {
  const FileKind first = impl_->files[0].kind;
  const bool alike = std::ranges::all_of(impl_->files, [&](const TokenFile& file) { return file.kind == first; });
  return std::string(alike ? kind_name(first) : "mixed");
}

std::string Tokens::tokenizer() const {
  for (const TokenFile& file : impl_->files)
    if (!file.tokenizer.empty()) return file.tokenizer;
  return {};
}

std::string Tokens::tokenizer_hash() const {
  for (const TokenFile& file : impl_->files)
    if (!file.tokenizer_hash.empty()) return file.tokenizer_hash;
  return {};
}

Dataset Tokens::documents() const {
  if (impl_->rows.closed()) throw Error(ErrorCode::kClosed, "the files of tokens were closed");
  for (const TokenFile& file : impl_->files)
    if (file.documents == nullptr)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("this {} file does not record where its documents end", kind_name(file.kind)))
          .with_file(file.path)
          .with_hint(
              "windows() needs no documents. Megatron's .idx, datatrove's .ds.index and Headrace's own folders "
              "record where documents end.");
  SpanLister lister(impl_->rows);
  for (const TokenFile& file : impl_->files) {
    file.documents->read([&](std::uint64_t first, std::uint64_t end) { lister.add_span(first, end); }).value();
    lister.end_file();
  }
  return Dataset(make_span_samples(impl_of(impl_->rows)->source.shared_rows(), lister.take(), std::nullopt,
                                   impl_of(impl_->rows)->node_with(DocumentsNode{})));
}

std::string Tokens::describe() const {
  const std::vector<TokenFile>& files = impl_->files;
  std::string text = fmt::format("{} tokens of {} in {} {} file{}", group_digits(size()), dtype().name(), files.size(),
                                 kind(), files.size() == 1 ? "" : "s");
  if (const auto documents = num_documents()) text += fmt::format(", {} documents", group_digits(*documents));
  if (vocab_size() > 0) text += fmt::format(", vocabulary of {}", group_digits(vocab_size()));
  if (const std::string name = tokenizer(); !name.empty()) text += fmt::format(", tokenizer {}", name);
  return text + "\n";
}

Tokens open_tokens(const std::vector<std::string>& paths, const TokenOptions& options) {
  return open_tokens_again(paths, options, options);
}

Tokens open_tokens_again(const std::vector<std::string>& paths, const TokenOptions& said, const TokenOptions& options) {
  const std::vector<std::string> found = token_paths(paths).value();
  std::vector<TokenFile> files = open_files(found, options).value();
  TokensNode node{{}, {.dtype = said.dtype, .vocab_size = said.vocab_size, .check = said.check}};
  for (const std::string& path : found) node.paths.push_back(std::filesystem::absolute(path).string());
  Dataset rows = open_rows(files, node);
  return Tokens(std::make_shared<const Tokens::Impl>(Tokens::Impl{std::move(rows), std::move(files)}));
}

}  // namespace headrace
