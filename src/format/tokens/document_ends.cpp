#include <fmt/format.h>

#include "format/tokens/document_index.h"
#include "format/tokens/number_stream.h"

namespace headrace::token_files {
namespace {

Error ends_damaged(const EndsPlace& ends, std::string what, ByteRange bytes) {
  return Error(ErrorCode::kCorruptData, std::move(what))
      .with_file(ends.path)
      .with_bytes(bytes)
      .with_stage("documents")
      .with_hint("The index is not that of these tokens? Both are written together.");
}

class DocumentEnds final : public DocumentIndex {
 public:
  DocumentEnds(EndsPlace ends, std::uint64_t tokens) : ends_(std::move(ends)), tokens_(tokens) {}
  [[nodiscard]] std::uint64_t size() const override { return ends_.count; }

  [[nodiscard]] Status read(const AddDocument& add) const override {
    NumberStream<std::uint64_t> numbers(*ends_.file, ends_.offset, ends_.count);
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < ends_.count; ++i) {
      HEADRACE_ASSIGN(const std::uint64_t end, numbers.next());
      if (end < first || end > tokens_)
        return ends_damaged(
            ends_, fmt::format("document {} ends at token {}, where {} to {} is possible", i, end, first, tokens_),
            numbers.place());
      add(first, end);
      first = end;
    }
    return {};
  }

 private:
  const EndsPlace ends_;
  const std::uint64_t tokens_;
};

}  // namespace

Result<std::shared_ptr<const DocumentIndex>> open_document_ends(EndsPlace ends, std::uint64_t tokens) {
  std::uint64_t last = 0;
  const std::uint64_t at = ends.offset + (ends.count - (ends.count > 0 ? 1 : 0)) * sizeof(last);
  if (ends.count > 0) {
    HEADRACE_ASSIGN(last, number_at<std::uint64_t>(*ends.file, at));
  }
  if (last != tokens)
    return ends_damaged(
        ends, fmt::format("the last of {} documents ends at token {}, and there are {}", ends.count, last, tokens),
        ends.count > 0 ? ByteRange{at, sizeof(last)} : ByteRange{});
  return std::shared_ptr<const DocumentIndex>(std::make_shared<DocumentEnds>(std::move(ends), tokens));
}

}  // namespace headrace::token_files
