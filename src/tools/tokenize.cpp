// tokenize: the screen before and after a corpus is tokenised.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <cmath>

#include "tools/json.h"

namespace headrace {
namespace {

std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string number_text(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::uint64_t number, const char* one) {
  return fmt::format("{} {}{}", number_text(number), one, number == 1 ? "" : "s");
}

std::string estimate_text(const TokenizeEstimate& about, const std::string& to) {
  const std::string text = about.text_bytes > about.stored_bytes + about.stored_bytes / 16
                               ? fmt::format(", about {} of text", format_bytes(about.text_bytes))
                               : "";
  return fmt::format(
      "{}, {}{}: about {} tokens, {} in {}.\nAbout {} with {}, {:.0f} MB/s each; an estimate from the first MiB of "
      "some files.",
      counted(about.files, "file"), format_bytes(about.stored_bytes), text, number_text(about.tokens),
      format_bytes(about.token_bytes), to, time_text(about.seconds), counted(about.threads, "thread"),
      about.bytes_per_second / 1e6);
}

std::string done_text(const TokenizeResult& done, const std::string& to, TokenFormat format, std::uint64_t vocab_size) {
  const std::uint64_t fresh = done.text_bytes - std::min(done.text_bytes, done.resumed_bytes);
  std::string text;
  if (done.resumed_bytes > 0 && fresh == 0)
    text = fmt::format("DONE  {} tokens of {} in {}, by an earlier call: nothing was left to do.\n",
                       number_text(done.tokens), counted(done.documents, "document"), to);
  else
    text = fmt::format("DONE  {} tokens of {} in {}, {}: {} of text in {}, {:.1f} MB/s.\n", number_text(done.tokens),
                       counted(done.documents, "document"), to, counted(done.files, "file"), format_bytes(fresh),
                       time_text(done.seconds), static_cast<double>(fresh) / 1e6 / std::max(done.seconds, 1e-9));
  if (done.resumed_bytes > 0 && fresh > 0)
    text += fmt::format("      {} of text had been done by an earlier call.\n", format_bytes(done.resumed_bytes));
  if (done.skipped_documents > 0)
    text += fmt::format("SKIPPED  {} left out, the first: {}\n", counted(done.skipped_documents, "document"),
                        done.first_skipped);
  text += format == TokenFormat::kNanogpt
              ? fmt::format("NEXT  hr.open_tokens(\"{}\", vocab_size={}).windows(1024, lookahead=1)\n", to, vocab_size)
              : fmt::format("NEXT  hr.open_tokens(\"{}\").windows(1024, lookahead=1)\n", to);
  return text;
}

Json estimate_json(const TokenizeEstimate& about) {
  return {{"files", about.files},
          {"stored_bytes", about.stored_bytes},
          {"text_bytes", about.text_bytes},
          {"tokens", about.tokens},
          {"token_bytes", about.token_bytes},
          {"bytes_per_second", std::round(about.bytes_per_second)},
          {"threads", about.threads},
          {"seconds", about.seconds}};
}

Json done_json(const TokenizeResult& done, const std::string& to) {
  return {{"to", to},
          {"files", done.files},
          {"documents", done.documents},
          {"tokens", done.tokens},
          {"text_bytes", done.text_bytes},
          {"resumed_bytes", done.resumed_bytes},
          {"skipped_documents", done.skipped_documents},
          {"first_skipped", done.first_skipped},
          {"seconds", done.seconds}};
}

}  // namespace

ToolResult tokenize_corpus(const std::vector<std::string>& paths, const TokenizeArguments& arguments,
                           const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  const Tokenizer tokenizer(arguments.tokenizer, arguments.tokenizer_options);
  TokenizeOptions options = arguments.options;
  options.progress = progress;
  ToolResult result;
  const TokenizeEstimate about = estimate_tokenize(paths, tokenizer, options);
  Json json{{"schema", "headrace-tokenize/1"}, {"tokenizer", tokenizer.name()}, {"estimate", estimate_json(about)}};
  result.text = estimate_text(about, arguments.to) + "\n";
  if (arguments.announce) arguments.announce(estimate_text(about, arguments.to));
  if (!arguments.dry_run) {
    const TokenizeResult done = tokenize(paths, arguments.to, tokenizer, options);
    json["done"] = done_json(done, arguments.to);
    result.text += done_text(done, arguments.to, options.format, tokenizer.vocab_size());
    result.findings = done.skipped_documents > 0;
  }
  result.json = dump(json);
  return result;
}

}  // namespace headrace
