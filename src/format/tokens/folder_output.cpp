#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "format/npy/npy_header.h"
#include "format/tokens/byte_sink.h"
#include "format/tokens/file_checksum.h"
#include "format/tokens/output_formats.h"
#include "format/tokens/output_place.h"
#include "format/tokens/summed_sink.h"

namespace headrace::token_files {
namespace {

/// An .npy file whose length is known at its end: its header is written anew there.
class NumberFile {
 public:
  Status create(const std::string& path, DType dtype) {
    dtype_ = dtype;
    return sink_.create(path, header(0));  // as long as that of any number
  }
  Status reopen(const std::string& path, DType dtype, const nlohmann::json& checkpoint) {
    dtype_ = dtype;
    return sink_.reopen(path, checkpoint, header(0).size());
  }
  Status write(std::span<const std::byte> numbers) { return sink_.write(numbers); }
  Result<nlohmann::json> checkpoint() { return sink_.checkpoint(); }
  /// \return The checksum of the file.
  Result<std::uint32_t> close(std::uint64_t numbers) { return sink_.close(header(numbers)); }

 private:
  [[nodiscard]] std::string header(std::uint64_t numbers) const { return npy_header(dtype_, {{numbers}}); }
  DType dtype_ = {};
  SummedSink sink_;
};

struct OpenShard {
  NumberFile numbers, ends;
};

/// A folder of .npy files, which is renamed as a whole.
class FolderOutput final : public TokenOutput {
 public:
  FolderOutput(std::string path, TokenManifest manifest, std::uint64_t shard_tokens, Unfinished unfinished)
      : place_(std::move(path), unfinished), manifest_(std::move(manifest)), shard_tokens_(shard_tokens) {}
  Status begin() {
    HEADRACE_TRY(place_.check_free());
    if (place_.is_kept()) remove_quietly(place_.working());
    std::error_code error;
    if (!std::filesystem::create_directory(place_.working(), error))
      return Error(ErrorCode::kWriteFailed, fmt::format("the folder cannot be made: {}", error.message()))
          .with_file(place_.working())
          .with_stage("write");
    return {};
  }
  Status resume(const nlohmann::json& checkpoint) {
    HEADRACE_TRY(place_.take_back());
    for (const nlohmann::json& one : checkpoint.at("shards")) HEADRACE_TRY(take_shard(one));
    is_full_ = checkpoint.at("is_full").get<bool>();
    for (std::size_t next = manifest_.shards.size();; ++next) {  // what was begun behind the checkpoint
      const TokenShard later = named(next);
      if (!std::filesystem::exists(inside(later.file))) break;
      remove_quietly(inside(later.file));
      remove_quietly(inside(later.ends));
    }
    if (!checkpoint.contains("numbers")) return {};
    open_ = std::make_unique<OpenShard>();
    const TokenShard& shard = manifest_.shards.back();
    HEADRACE_TRY(open_->numbers.reopen(inside(shard.file), manifest_.dtype, checkpoint.at("numbers")));
    return open_->ends.reopen(inside(shard.ends), kEndType, checkpoint.at("ends"));
  }
  Status write(std::span<const std::byte> numbers) override {
    if (numbers.empty()) return {};
    if (is_full_) HEADRACE_TRY(end_shard());
    if (!open_) HEADRACE_TRY(begin_shard());
    return open_->numbers.write(numbers);
  }
  Status end_document(std::uint64_t tokens) override {
    if (!open_) HEADRACE_TRY(begin_shard());
    TokenShard& shard = manifest_.shards.back();
    shard.tokens += tokens;
    ++shard.documents;
    is_full_ = shard.tokens >= shard_tokens_;
    std::array<std::byte, 8> end;
    for (std::size_t i = 0; i < end.size(); ++i) end[i] = static_cast<std::byte>(shard.tokens >> 8 * i & 0xFF);
    return open_->ends.write(end);
  }
  Status finish() override {
    if (open_) HEADRACE_TRY(end_shard());
    const std::string path = inside(TokenManifest::kFileName);
    remove_quietly(path);
    ByteSink manifest;
    HEADRACE_TRY(manifest.create(path));
    HEADRACE_TRY(manifest.write(std::string_view(manifest_text(manifest_))));
    HEADRACE_TRY(manifest.close());
    return place_.give();
  }
  Result<std::string> checkpoint() override {
    nlohmann::json state{{"shards", nlohmann::json::array()}, {"is_full", is_full_}};
    for (const TokenShard& shard : manifest_.shards) {
      state["shards"].push_back({{"tokens", shard.tokens}, {"documents", shard.documents}});
      if (!shard.crc32c) continue;  // the open one
      state["shards"].back()["crc32c"] = *shard.crc32c;
      state["shards"].back()["ends_crc32c"] = *shard.ends_crc32c;
    }
    if (open_) {
      HEADRACE_ASSIGN(state["numbers"], open_->numbers.checkpoint());
      HEADRACE_ASSIGN(state["ends"], open_->ends.checkpoint());
    }
    return state.dump();
  }

 private:
  static constexpr DType kEndType{DType::Kind::kUInt, 8};
  static TokenShard named(std::size_t number) {
    return {fmt::format("tokens-{:05}.npy", number), fmt::format("ends-{:05}.npy", number)};
  }
  [[nodiscard]] std::string inside(std::string_view name) const { return path_in(place_.working(), name); }
  TokenShard& add_shard(std::uint64_t tokens, std::uint64_t documents) {
    TokenShard& shard = manifest_.shards.emplace_back(named(manifest_.shards.size()));
    shard.tokens = tokens;
    shard.documents = documents;
    return shard;
  }
  /// Take what a checkpoint says of a shard. Errors: kCorruptData  a file of one that was whole is another now; those
  /// of reading it.
  Status take_shard(const nlohmann::json& said) {
    TokenShard& shard = add_shard(said.at("tokens").get<std::uint64_t>(), said.at("documents").get<std::uint64_t>());
    if (!said.contains("crc32c")) return {};
    shard.crc32c = said.at("crc32c").get<std::uint32_t>();
    shard.ends_crc32c = said.at("ends_crc32c").get<std::uint32_t>();
    HEADRACE_TRY(check_file({inside(shard.file), *shard.crc32c}));
    return check_file({inside(shard.ends), *shard.ends_crc32c});
  }
  Status begin_shard() {
    const TokenShard& shard = add_shard(0, 0);
    open_ = std::make_unique<OpenShard>();
    HEADRACE_TRY(open_->numbers.create(inside(shard.file), manifest_.dtype));
    return open_->ends.create(inside(shard.ends), kEndType);
  }
  Status end_shard() {
    TokenShard& shard = manifest_.shards.back();
    is_full_ = false;
    HEADRACE_ASSIGN(shard.crc32c, open_->numbers.close(shard.tokens));
    HEADRACE_ASSIGN(shard.ends_crc32c, open_->ends.close(shard.documents));
    open_.reset();
    return {};
  }

  OutputPlace place_;
  TokenManifest manifest_;
  const std::uint64_t shard_tokens_;
  std::unique_ptr<OpenShard> open_;  ///< Null between shards.
  bool is_full_ = false;             ///< The shard ends before the next token; empty documents still belong to it.
};

}  // namespace

Result<std::unique_ptr<TokenOutput>> open_folder_output(const std::string& path, TokenManifest manifest,
                                                        std::uint64_t shard_tokens, Unfinished unfinished,
                                                        const std::string* checkpoint) {
  auto output = std::make_unique<FolderOutput>(path, std::move(manifest), shard_tokens, unfinished);
  HEADRACE_TRY(checkpoint ? output->resume(nlohmann::json::parse(*checkpoint)) : output->begin());
  return std::unique_ptr<TokenOutput>(std::move(output));
}

}  // namespace headrace::token_files
