// The text in a line of JSON.
#pragma once

#include <headrace/tokenize.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace::corpora {

/// Parses lines with simdjson, which reads every byte of them. Threads: one at a time.
class JsonText {
 public:
  /// \param field  A key, or a JSON Pointer, which begins with "/". Errors: kInvalidArgument  neither.
  static Result<JsonText> make(const std::string& field);
  ~JsonText();
  JsonText(JsonText&&) noexcept;
  JsonText& operator=(JsonText&&) noexcept;

  /// Return the text of a line, which stays until the next call. \param line  kPaddingBytes behind it may be read.
  /// \param bad_text  With kReplace the text has U+FFFD for halves of surrogate pairs, "\ud800", as those of other keys
  /// have in any case. Errors: kCorruptData  it is no object of JSON, has no such key or has it twice, or has no text
  /// there; without a place.
  Result<std::string_view> text_of(std::string_view line, BadText bad_text);

 private:
  struct Impl;
  Result<std::string_view> found_text(std::string_view line);
  explicit JsonText(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::corpora
