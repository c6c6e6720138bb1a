#include <headrace/error.h>

#include <fmt/format.h>

#include <utility>

namespace headrace {

struct Error::Details {
  ErrorCode code = ErrorCode::kInternal;
  std::string message, file, field, chunk, stage, hint;
  ByteRange bytes;
  std::uint64_t needed_bytes = 0;
  std::string text;

  void compose() {
    text.clear();
    auto add = [&](std::string_view part) {
      if (!text.empty()) text += " › ";
      text += part;
    };
    if (!file.empty()) add(file);
    if (!field.empty()) add(field);
    if (!chunk.empty()) add("chunk " + chunk);
    if (bytes.size != 0) add(fmt::format("bytes {}+{}", bytes.offset, bytes.size));
    if (!text.empty()) text += ": ";
    if (!stage.empty()) text += stage + ": ";
    text += message;
    if (!hint.empty()) {
      if (!text.empty() && text.back() != '.' && text.back() != '?' && text.back() != '\n') text += '.';
      text += ' ';
      text += hint;
    }
  }
};

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kFieldMissing:
      return "field_missing";
    case ErrorCode::kCorruptData:
      return "corrupt_data";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kReadFailed:
      return "read_failed";
    case ErrorCode::kWriteFailed:
      return "write_failed";
    case ErrorCode::kFileChanged:
      return "file_changed";
    case ErrorCode::kOutOfBudget:
      return "out_of_budget";
    case ErrorCode::kClosed:
      return "closed";
    case ErrorCode::kForked:
      return "forked";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string message) : details_(std::make_shared<Details>()) {
  details_->code = code;
  details_->message = std::move(message);
  details_->compose();
}

Error::Details& Error::edit() {
  if (details_.use_count() > 1) details_ = std::make_shared<Details>(*details_);
  return *details_;
}

namespace {
void set_once(std::string& member, std::string_view value) {
  if (member.empty()) member = value;
}
}  // namespace

Error& Error::with_file(std::string_view file) & {
  Details& d = edit();
  set_once(d.file, file);
  d.compose();
  return *this;
}
Error& Error::with_field(std::string_view field) & {
  Details& d = edit();
  set_once(d.field, field);
  d.compose();
  return *this;
}
Error& Error::with_chunk(std::string_view chunk) & {
  Details& d = edit();
  set_once(d.chunk, chunk);
  d.compose();
  return *this;
}
Error& Error::with_bytes(ByteRange range) & {
  Details& d = edit();
  if (d.bytes.size == 0) d.bytes = range;
  d.compose();
  return *this;
}
Error& Error::with_stage(std::string_view stage) & {
  Details& d = edit();
  set_once(d.stage, stage);
  d.compose();
  return *this;
}
Error& Error::with_hint(std::string_view hint) & {
  Details& d = edit();
  set_once(d.hint, hint);
  d.compose();
  return *this;
}

Error& Error::with_needed_bytes(std::uint64_t bytes) & {
  edit().needed_bytes = bytes;
  return *this;
}

ErrorCode Error::code() const noexcept {
  return details_->code;
}
const std::string& Error::message() const noexcept {
  return details_->message;
}
const std::string& Error::file() const noexcept {
  return details_->file;
}
const std::string& Error::field() const noexcept {
  return details_->field;
}
const std::string& Error::chunk() const noexcept {
  return details_->chunk;
}
ByteRange Error::bytes() const noexcept {
  return details_->bytes;
}
const std::string& Error::stage() const noexcept {
  return details_->stage;
}
const std::string& Error::hint() const noexcept {
  return details_->hint;
}
std::uint64_t Error::needed_bytes() const noexcept {
  return details_->needed_bytes;
}
const char* Error::what() const noexcept {
  return details_->text.c_str();
}

}  // namespace headrace
