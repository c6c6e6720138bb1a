#include "corpus/whole_text.h"

#include <algorithm>
#include <span>
#include <vector>

#include "corpus/piece_encoder.h"
#include "corpus/utf8.h"

namespace headrace::corpora {

Result<std::optional<Error>> damage_of_text(text_files::TextStream& stream) {
  constexpr std::size_t kMostOfCharacter = 4;
  std::vector<char> bytes(text_files::kReadBytes);
  std::uint64_t place = 0;  // of the first byte there
  for (std::size_t kept = 0;;) {
    HEADRACE_ASSIGN(const std::size_t read, stream.read(std::as_writable_bytes(std::span(bytes).subspan(kept))));
    const bool is_last = read < bytes.size() - kept;
    const std::string_view text(bytes.data(), kept + read);
    const std::size_t at = first_ill_formed(text);
    const std::size_t good = at == std::string_view::npos ? text.size() : at;
    if (good < text.size() && (is_last || text.size() - good >= kMostOfCharacter))
      return std::optional(ill_formed(place + good, text[good]));
    if (is_last) return std::optional<Error>();
    kept = text.size() - good;  // a character that goes on
    std::copy(text.end() - static_cast<std::ptrdiff_t>(kept), text.end(), bytes.begin());
    place += good;
  }
}

}  // namespace headrace::corpora
