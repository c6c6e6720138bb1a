#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "format/tokens/byte_sink.h"
#include "format/tokens/megatron_index.h"
#include "format/tokens/output_formats.h"
#include "format/tokens/output_place.h"
#include "format/tokens/summed_sink.h"

namespace headrace::token_files {
namespace {

/// A .bin file of numbers alone; with an index, Megatron's pair.
class FlatOutput : public TokenOutput {
 public:
  FlatOutput(std::string path, Unfinished unfinished) : place_(std::move(path), unfinished) {}
  Status begin() {
    HEADRACE_TRY(place_.check_free());
    if (place_.is_kept()) remove_quietly(place_.working());
    return numbers_.create(place_.working());
  }
  Status resume(const nlohmann::json& checkpoint) {
    HEADRACE_ASSIGN(was_whole_, place_.take_back());
    return numbers_.reopen(place_.working(), checkpoint.at("numbers"));
  }
  Status write(std::span<const std::byte> numbers) override { return numbers_.write(numbers); }
  Status end_document(std::uint64_t) override { return {}; }
  Status finish() override {
    HEADRACE_ASSIGN([[maybe_unused]] const std::uint32_t crc, numbers_.close());
    return place_.give();
  }
  Result<std::string> checkpoint() override {
    HEADRACE_ASSIGN(const nlohmann::json numbers, numbers_.checkpoint());
    return nlohmann::json{{"numbers", numbers}}.dump();
  }

  /// True if the file had its name when the work went on.
  [[nodiscard]] bool was_whole() const { return was_whole_; }

 private:
  OutputPlace place_;
  SummedSink numbers_;
  bool was_whole_ = false;
};

/// Lengths of documents stay in memory, and, where the output is kept, in a file beside it, for the next process.
class MegatronOutput final : public FlatOutput {
 public:
  MegatronOutput(const std::string& stem, DType dtype, Unfinished unfinished)
      : FlatOutput(stem + ".bin", unfinished), index_(stem + ".idx", unfinished), dtype_(dtype) {}
  Status begin_both() {
    HEADRACE_TRY(index_.check_free());
    HEADRACE_TRY(begin());
    if (!index_.is_kept()) return {};
    remove_quietly(index_.working());
    return kept_lengths_.create(index_.working());
  }
  Status resume_both(const nlohmann::json& checkpoint) {
    HEADRACE_TRY(resume(checkpoint));
    if (was_whole()) remove_quietly(index_.path());  // the other of the pair, if it came as far
    HEADRACE_TRY(index_.check_free());
    const auto documents = checkpoint.at("documents").get<std::uint64_t>();
    HEADRACE_TRY(kept_lengths_.reopen(index_.working(), checkpoint.at("lengths")));
    lengths_.resize(documents);
    std::ifstream file(index_.working(), std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(lengths_.data()), static_cast<std::streamsize>(documents * 4)))
      return Error(ErrorCode::kReadFailed, "the lengths of documents cannot be read again").with_file(index_.working());
    return {};
  }
  Status end_document(std::uint64_t tokens) override {
    if (tokens > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return Error(
                 ErrorCode::kInvalidArgument,
                 fmt::format("document {} has {} tokens, and Megatron's lengths have 32 bits", lengths_.size(), tokens))
          .with_file(index_.path())
          .with_hint("Divide it, or write another format.");
    lengths_.push_back(static_cast<std::int32_t>(tokens));
    return index_.is_kept() ? kept_lengths_.write_number(lengths_.back()) : Status{};
  }
  Result<std::string> checkpoint() override {
    HEADRACE_ASSIGN(const std::string numbers, FlatOutput::checkpoint());
    nlohmann::json state = nlohmann::json::parse(numbers);
    HEADRACE_ASSIGN(state["lengths"], kept_lengths_.checkpoint());
    state["documents"] = lengths_.size();
    return state.dump();
  }
  /// The index comes last: without it there is no pair.
  Status finish() override {
    const std::string written = index_.working() + ".index";
    remove_quietly(written);
    ByteSink index;
    HEADRACE_TRY(index.create(written));
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
    HEADRACE_ASSIGN(const bool is_free, give_name(written, index_.path()));
    return is_free ? Status() : index_.taken();  // lengths that are kept go when nothing goes on from them any more
  }
  ~MegatronOutput() override {
    if (!index_.is_kept()) remove_quietly(index_.working() + ".index");
  }

 private:
  OutputPlace index_;
  const DType dtype_;
  std::vector<std::int32_t> lengths_;
  SummedSink kept_lengths_;
};

}  // namespace

Result<std::unique_ptr<TokenOutput>> open_flat_output(const std::string& path, Unfinished unfinished,
                                                      const std::string* checkpoint) {
  auto output = std::make_unique<FlatOutput>(path, unfinished);
  HEADRACE_TRY(checkpoint ? output->resume(nlohmann::json::parse(*checkpoint)) : output->begin());
  return std::unique_ptr<TokenOutput>(std::move(output));
}

Result<std::unique_ptr<TokenOutput>> open_megatron_output(const std::string& stem, DType dtype, Unfinished unfinished,
                                                          const std::string* checkpoint) {
  auto output = std::make_unique<MegatronOutput>(stem, dtype, unfinished);
  HEADRACE_TRY(checkpoint ? output->resume_both(nlohmann::json::parse(*checkpoint)) : output->begin_both());
  return std::unique_ptr<TokenOutput>(std::move(output));
}

}  // namespace headrace::token_files
