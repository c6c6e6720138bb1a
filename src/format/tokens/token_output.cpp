#include "format/tokens/token_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <vector>

#include "format/npy/npy_header.h"
#include "format/tokens/byte_sink.h"
#include "format/tokens/megatron_index.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

/// Name of what is being written. It is this process's, so that two writers do not meet.
std::string unfinished(const std::string& path) {
  return fmt::format("{}.writing-{}", path, ::getpid());
}

Status check_free(const std::string& path) {
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
  if (status.kind == PathKind::kNothing) return {};
  return std::move(Error(ErrorCode::kInvalidArgument, "something of this name is there already")
                       .with_file(path)
                       .with_stage("write")
                       .with_hint("Name another place, or remove it first."));
}

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

/// A .bin file of numbers alone; with an index, Megatron's pair.
class FlatOutput : public TokenOutput {
 public:
  explicit FlatOutput(std::string path) : path_(std::move(path)) {}
  ~FlatOutput() override {
    if (!finished_) remove_quietly(unfinished(path_));
  }
  Status begin() {
    HEADRACE_TRY(check_free(path_));
    return numbers_.create(unfinished(path_));
  }
  Status write(std::span<const std::byte> numbers) override { return numbers_.write(numbers); }
  Status end_document(std::uint64_t) override { return {}; }
  Status finish() override {
    HEADRACE_TRY(numbers_.close());
    HEADRACE_TRY(give_name(unfinished(path_), path_));
    finished_ = true;
    return {};
  }

 private:
  const std::string path_;
  ByteSink numbers_;
  bool finished_ = false;
};

class MegatronOutput final : public FlatOutput {
 public:
  MegatronOutput(const std::string& stem, DType dtype)
      : FlatOutput(stem + ".bin"), index_path_(stem + ".idx"), dtype_(dtype) {}
  ~MegatronOutput() override {
    if (!finished_) remove_quietly(unfinished(index_path_));
  }
  Status begin_both() {
    HEADRACE_TRY(check_free(index_path_));
    return begin();
  }
  Status end_document(std::uint64_t tokens) override {
    if (tokens > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return std::move(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("document {} has {} tokens, and Megatron's lengths have 32 bits", lengths_.size(), tokens))
              .with_file(index_path_)
              .with_hint("Divide it, or write another format."));
    lengths_.push_back(static_cast<std::int32_t>(tokens));
    return {};
  }
  /// The index comes last: without it there is no pair.
  Status finish() override {
    ByteSink index;
    HEADRACE_TRY(index.create(unfinished(index_path_)));
    HEADRACE_TRY(index.write(std::string_view(megatron_header(dtype_, lengths_.size(), lengths_.size() + 1))));
    for (const std::int32_t length : lengths_) HEADRACE_TRY(index.write_number(length));
    std::int64_t pointer = 0;
    for (const std::int32_t length : lengths_) {
      HEADRACE_TRY(index.write_number(pointer));
      pointer += std::int64_t{length} * dtype_.itemsize;
    }
    for (std::int64_t mark = 0; mark <= static_cast<std::int64_t>(lengths_.size()); ++mark)
      HEADRACE_TRY(index.write_number(mark));
    HEADRACE_TRY(index.close());
    HEADRACE_TRY(FlatOutput::finish());
    HEADRACE_TRY(give_name(unfinished(index_path_), index_path_));
    finished_ = true;
    return {};
  }

 private:
  const std::string index_path_;
  const DType dtype_;
  std::vector<std::int32_t> lengths_;
  bool finished_ = false;
};

/// A folder of .npy files, which is renamed as a whole.
class FolderOutput final : public TokenOutput {
 public:
  FolderOutput(std::string path, TokenManifest manifest, std::uint64_t shard_tokens)
      : path_(std::move(path)), manifest_(std::move(manifest)), shard_tokens_(shard_tokens) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  }
  ~FolderOutput() override {
    if (!finished_) remove_quietly(unfinished(path_));
  }
  Status begin() {
    HEADRACE_TRY(check_free(path_));
    std::error_code error;
    if (!std::filesystem::create_directory(unfinished(path_), error))
      return std::move(Error(ErrorCode::kWriteFailed, fmt::format("the folder cannot be made: {}", error.message()))
                           .with_file(unfinished(path_))
                           .with_stage("write"));
    return {};
  }
  Status write(std::span<const std::byte> numbers) override {
    if (numbers.empty()) return {};
    if (is_full_) HEADRACE_TRY(end_shard());
    if (!numbers_) HEADRACE_TRY(begin_shard());
    return numbers_->write(numbers);
  }
  Status end_document(std::uint64_t tokens) override {
    if (!numbers_) HEADRACE_TRY(begin_shard());
    TokenShard& shard = manifest_.shards.back();
    shard.tokens += tokens;
    ++shard.documents;
    ends_.push_back(shard.tokens);
    is_full_ = shard.tokens >= shard_tokens_;
    return {};
  }
  Status finish() override {
    if (numbers_) HEADRACE_TRY(end_shard());
    ByteSink manifest;
    HEADRACE_TRY(manifest.create(path_in(unfinished(path_), TokenManifest::kFileName)));
    HEADRACE_TRY(manifest.write(std::string_view(manifest_text(manifest_))));
    HEADRACE_TRY(manifest.close());
    HEADRACE_TRY(give_name(unfinished(path_), path_));
    finished_ = true;
    return {};
  }

 private:
  [[nodiscard]] std::string header(std::uint64_t tokens) const { return npy_header(manifest_.dtype, {{tokens}}); }

  Status begin_shard() {
    const std::size_t number = manifest_.shards.size();
    TokenShard& shard = manifest_.shards.emplace_back();
    shard.file = fmt::format("tokens-{:05}.npy", number);
    shard.ends = fmt::format("ends-{:05}.npy", number);
    numbers_ = std::make_unique<ByteSink>();
    HEADRACE_TRY(numbers_->create(path_in(unfinished(path_), shard.file)));
    return numbers_->write(std::string_view(header(0)));  // as long as that of any number of tokens
  }
  Status end_shard() {
    TokenShard& shard = manifest_.shards.back();
    const std::string whole = header(shard.tokens);
    if (whole.size() != header(0).size()) return Error(ErrorCode::kInternal, "a header grew beyond its place");
    is_full_ = false;
    HEADRACE_TRY(numbers_->rewrite_start(whole));
    HEADRACE_TRY(numbers_->close());
    numbers_.reset();
    ByteSink ends;
    HEADRACE_TRY(ends.create(path_in(unfinished(path_), shard.ends)));
    HEADRACE_TRY(ends.write(std::string_view(npy_header({DType::Kind::kUInt, 8}, {{shard.documents}}))));
    for (const std::uint64_t end : ends_) HEADRACE_TRY(ends.write_number(end));
    ends_.clear();
    return ends.close();
  }

  std::string path_;
  TokenManifest manifest_;
  const std::uint64_t shard_tokens_;
  std::unique_ptr<ByteSink> numbers_;  ///< Null between shards.
  std::vector<std::uint64_t> ends_;
  bool is_full_ = false;  ///< The shard ends before the next token; empty documents still belong to it.
  bool finished_ = false;
};

std::string stem_of(const std::string& path) {
  return path.ends_with(".bin") || path.ends_with(".idx") ? path.substr(0, path.size() - 4) : path;
}

}  // namespace

Result<std::unique_ptr<TokenOutput>> open_token_output(OutputFormat format, const std::string& path,
                                                       TokenManifest manifest, std::uint64_t shard_tokens) {
  if (format == OutputFormat::kFolder) {
    auto output = std::make_unique<FolderOutput>(path, std::move(manifest), shard_tokens);
    HEADRACE_TRY(output->begin());
    return std::unique_ptr<TokenOutput>(std::move(output));
  }
  if (format == OutputFormat::kRaw) {
    auto output = std::make_unique<FlatOutput>(path);
    HEADRACE_TRY(output->begin());
    return std::unique_ptr<TokenOutput>(std::move(output));
  }
  if (megatron_code(manifest.dtype) == 0)
    return std::move(
        Error(ErrorCode::kInvalidArgument, fmt::format("Megatron's files have no code for {}", manifest.dtype.name()))
            .with_file(path)
            .with_hint("It writes uint16 for vocabularies below 65,500, and int32 for all others."));
  auto output = std::make_unique<MegatronOutput>(stem_of(path), manifest.dtype);
  HEADRACE_TRY(output->begin_both());
  return std::unique_ptr<TokenOutput>(std::move(output));
}

}  // namespace headrace::token_files
