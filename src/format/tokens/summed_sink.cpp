#include "format/tokens/summed_sink.h"

#include <algorithm>

#include "base/checksum/crc32c.h"
#include "format/tokens/file_checksum.h"

namespace headrace::token_files {

Status SummedSink::create(const std::string& path, std::string_view head) {
  head_bytes_ = head.size();
  HEADRACE_TRY(sink_.create(path));
  return sink_.write(head);
}

Status SummedSink::reopen(const std::string& path, const nlohmann::json& checkpoint, std::uint64_t head_bytes) {
  head_bytes_ = head_bytes;
  const auto size = checkpoint.at("bytes").get<std::uint64_t>();
  const auto was = checkpoint.at("crc32c").get<std::uint32_t>();
  HEADRACE_TRY(sink_.reopen(path, size));
  HEADRACE_ASSIGN(crc_, crc32c_of(path, head_bytes, size - std::min(size, head_bytes)));
  return crc_ == was ? Status() : bytes_changed(path, crc_, was);
}

Status SummedSink::write(std::span<const std::byte> bytes) {
  crc_ = crc32c(bytes, crc_);
  return sink_.write(bytes);
}

Result<nlohmann::json> SummedSink::checkpoint() {
  HEADRACE_TRY(sink_.save());
  return nlohmann::json{{"bytes", sink_.size()}, {"crc32c", crc_}};
}

Result<std::uint32_t> SummedSink::close(std::string_view head) {
  if (head.size() != head_bytes_) return Error(ErrorCode::kInternal, "a header grew beyond its place");
  const std::uint64_t size = sink_.size() - head.size();
  if (!head.empty()) HEADRACE_TRY(sink_.rewrite_start(head));
  HEADRACE_TRY(sink_.close());
  return crc32c_combine(crc32c(std::as_bytes(std::span(head))), crc_, size);
}

}  // namespace headrace::token_files
