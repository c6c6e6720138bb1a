#include "corpus/utf8.h"

#include <simdjson.h>

#include "base/text/utf8.h"

namespace headrace::corpora {

std::size_t first_ill_formed(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_sequence_at(text, at);
    if (!sequence.is_whole) return at;
    at += sequence.bytes;
  }
  return std::string_view::npos;
}

std::string replace_ill_formed(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Sequence sequence = utf8_sequence_at(text, at);
    out += sequence.is_whole ? text.substr(at, sequence.bytes) : std::string_view("\xEF\xBF\xBD");
    at += sequence.bytes;
  }
  return out;
}

}  // namespace headrace::corpora
