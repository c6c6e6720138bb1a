#include "corpus/piece_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "corpus/utf8.h"

namespace headrace::corpora {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

Error ill_formed(std::uint64_t place, char byte) {
  return Error(ErrorCode::kCorruptData, fmt::format("byte {} of the text, {:#04x}, is no UTF-8", place,
                                                    static_cast<unsigned>(static_cast<unsigned char>(byte))))
      .with_hint(
          "Convert the file; or replace such bytes, or leave out such documents: bad_text=, "
          "--bad-text replace or skip.");
}

Result<PieceEncoder> PieceEncoder::make(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  HEADRACE_ASSIGN(JsonText json, JsonText::make(options.field));
  return PieceEncoder(tokenizer, options, std::move(json));
}

Status PieceEncoder::encode_text(std::string_view text, EncodedPiece& out) {
  if (const std::size_t at = first_ill_formed(text); at != std::string_view::npos) {
    if (options_.bad_text != BadText::kReplace) return ill_formed(at, text[at]);
    replaced_ = replace_ill_formed(text);
    text = replaced_;
  }
  encoder_.encode(text, out.ids);
  return {};
}

Status PieceEncoder::encode_line(TextKind kind, std::string_view line, EncodedPiece& out) {
  if (kind == TextKind::kLines) return encode_text(line, out);
  std::string whole;
  if (options_.bad_text == BadText::kReplace && first_ill_formed(line) != std::string_view::npos) {
    whole = replace_ill_formed(line);
    whole.reserve(whole.size() + kPaddingBytes);
    line = whole;
  }
  HEADRACE_ASSIGN(const std::string_view text, json_.text_of(line, options_.bad_text));
  encoder_.encode(text, out.ids);
  return {};
}

Status PieceEncoder::encode_lines(const CorpusFile& file, const TextPiece& piece, EncodedPiece& out) {
  std::uint64_t number = piece.line;
  for (std::string_view left = piece.text(); !left.empty(); ++number) {
    const std::size_t newline = left.find('\n');
    std::string_view line = left.substr(0, newline);
    left = newline == std::string_view::npos ? std::string_view() : left.substr(newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_blank(line)) continue;
    const std::size_t before = out.ids.size();
    Status status = encode_line(file.kind, line, out);
    if (status.ok()) {
      out.ends.push_back(out.ids.size());
      continue;
    }
    out.ids.resize(before);
    Error error(status.error().code(), fmt::format("line {}: {}", number, status.error().message()));
    error.with_file(file.path).with_hint(status.error().hint());
    if (options_.bad_text != BadText::kSkip || error.code() != ErrorCode::kCorruptData) return error;
    if (out.skipped++ == 0) out.first_skipped = fmt::format("{}: {}", file.path, error.message());
  }
  return {};
}

EncodedPiece PieceEncoder::encode(const CorpusFile& file, const TextPiece& piece) {
  EncodedPiece out;
  out.ids.reserve(piece.bytes.size() / 3);
  Status status;
  try {
    if (!piece.left_out.empty()) {
      out.skipped = 1;
      out.first_skipped = fmt::format("{}: {}", file.path, piece.left_out);
    } else if (file.kind != TextKind::kWhole) {
      status = encode_lines(file, piece, out);
    } else {
      status = encode_text(piece.text(), out);
      if (!status.ok()) status.error().with_file(file.path).with_bytes({piece.offset, piece.text().size()});
      if (piece.is_last) out.ends.push_back(out.ids.size());
    }
  } catch (const Error& error) {
    status = error;
  }
  if (!status.ok()) out.error = std::move(status.error());
  return out;
}

}  // namespace headrace::corpora
