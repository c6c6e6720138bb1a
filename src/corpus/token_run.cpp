#include "corpus/token_run.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text/number_text.h"
#include "dataset/tokens/token_numbers.h"

namespace headrace::corpora {
namespace {

/// The id of a word: a special one, or one that is a token by itself; nullopt: it is neither.
std::optional<std::uint32_t> id_of(const Tokenizer& tokenizer, const std::string& word) {
  const auto special = tokenizer.special();
  if (const auto found = special.find(word); found != special.end()) return found->second;
  const std::vector<std::uint32_t> ids = tokenizer.encode(word);
  return ids.size() == 1 ? std::optional(ids[0]) : std::nullopt;
}

std::string special_words(const Tokenizer& tokenizer) {
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t shown = 0;
  const auto special = tokenizer.special();
  for (const auto& [word, id] : special) {
    if (++shown > kShown) return fmt::format("Its special words are {} and {} more.", text, special.size() - kShown);
    text += (text.empty() ? "" : ", ") + word;
  }
  return text.empty() ? "It has no special words." : fmt::format("Its special words are {}.", text);
}

}  // namespace

Result<TokenWriterOptions> writer_options(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  TokenWriterOptions writer;
  writer.format = options.format;
  writer.dtype = options.dtype;
  writer.vocab_size = tokenizer.vocab_size();
  writer.tokenizer = tokenizer.name();
  writer.tokenizer_hash = tokenizer.hash();
  writer.shard_tokens = options.shard_tokens;
  if (!options.end_of_text) return writer;
  const std::string& word = options.end_of_text_word;
  writer.end_of_text = word.empty() ? tokenizer.end_of_text() : id_of(tokenizer, word);
  if (writer.end_of_text) return writer;
  if (!word.empty())
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("end_of_text: '{}' is no token of the tokenizer {}", word, tokenizer.name()))
        .with_hint(special_words(tokenizer));
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("the tokenizer {} has no word that is known as the end of a text", tokenizer.name()))
      .with_hint(fmt::format("{} Name the one: end_of_text=\"WORD\", --end-of-text WORD. Or write none: "
                             "end_of_text=False, --no-end-of-text.",
                             special_words(tokenizer)));
}

Result<std::unique_ptr<TokenRun>> TokenRun::begin(const std::string& to, const Tokenizer& tokenizer,
                                                  const TokenizeOptions& options, std::string settings) {
  HEADRACE_ASSIGN(const TokenWriterOptions writer, writer_options(tokenizer, options));
  token_files::TokenManifest manifest;
  manifest.dtype = type_to_write(writer);
  manifest.vocab_size = writer.vocab_size;
  manifest.tokenizer = writer.tokenizer;
  manifest.tokenizer_hash = writer.tokenizer_hash;
  if (writer.end_of_text) manifest.end_of_text = *writer.end_of_text;
  const std::size_t width = manifest.dtype.itemsize;
  HEADRACE_ASSIGN(ProgressFile file, ProgressFile::lock(to));
  const token_files::OutputFormat format = output_format(options.format);
  std::optional<RunProgress> before;
  if (options.restart) {
    token_files::remove_unfinished(format, to);
    file.forget();
  } else {
    HEADRACE_ASSIGN(before, file.load(settings));
  }
  const std::vector<std::string> made = token_files::files_of(format, to);
  const std::optional<RunProgress> done = before ? std::nullopt : file.finished(settings, made);
  std::unique_ptr<TokenRun> run(new TokenRun(to, std::move(file), std::move(settings), options));
  if (done && !options.restart) {
    run->progress_ = *done;
    run->is_finished_ = true;
    run->file_.remove();
    return run;
  }
  run->width_ = width;
  run->end_of_text_ = writer.end_of_text;
  run->saved_ns_ = now_ns();
  if (before) {
    run->progress_ = *before;
    HEADRACE_ASSIGN(run->output_, token_files::resume_token_output(format, to, std::move(manifest),
                                                                   options.shard_tokens, before->output));
    return run;
  }
  auto opened = token_files::open_token_output(format, to, std::move(manifest), options.shard_tokens,
                                               token_files::Unfinished::kKept);
  if (!opened.ok()) {
    const bool others = run->file_.has_finished() && opened.error().code() == ErrorCode::kInvalidArgument;
    run->file_.remove();
    if (!others) return std::move(opened.error());
    return Error(ErrorCode::kInvalidArgument,
                 "tokens of other files, options or another tokenizer are there already, or they were changed")
        .with_file(opened.error().file())
        .with_stage("write")
        .with_hint("Name another place, or remove them first.");
  }
  run->output_ = std::move(*opened);
  HEADRACE_TRY(run->save());
  return run;
}

Status TokenRun::take(std::size_t file, const TextPiece& piece, const EncodedPiece& encoded) {
  if (encoded.error) return {};  // the work ends here, and the next call begins with this piece
  is_sound_ = false;
  std::size_t done = 0;
  const auto add_ids_to = [&](std::size_t end) {
    append_numbers(std::span(encoded.ids).subspan(done, end - done), width_, numbers_);
    progress_.tokens += end - done;
    progress_.in_document += end - done;
    done = end;
  };
  numbers_.clear();
  for (const std::size_t end : encoded.ends) {
    add_ids_to(end);
    if (end_of_text_) {
      append_numbers({&*end_of_text_, 1}, width_, numbers_);
      ++progress_.tokens;
      ++progress_.in_document;
    }
    HEADRACE_TRY(output_->write(numbers_));
    numbers_.clear();
    HEADRACE_TRY(output_->end_document(progress_.in_document));
    progress_.in_document = 0;
    ++progress_.documents;
  }
  add_ids_to(encoded.ids.size());
  HEADRACE_TRY(output_->write(numbers_));
  if (progress_.skipped == 0) progress_.first_skipped = encoded.first_skipped;
  progress_.skipped += encoded.skipped;
  progress_.text_bytes += piece.end_offset - piece.offset;
  progress_.place = piece.is_last ? CorpusPlace{file + 1, 0, 1} : CorpusPlace{file, piece.end_offset, piece.end_line};
  is_sound_ = true;
  const bool is_due = static_cast<double>(now_ns() - saved_ns_) >= options_.checkpoint_seconds * 1e9;
  return is_due ? save() : Status{};
}

Status TokenRun::save() {
  if (!is_sound_) return {};
  is_sound_ = false;  // what failed once is not tried again: part of it may have been written
  HEADRACE_ASSIGN(progress_.output, output_->checkpoint());
  HEADRACE_TRY(file_.save(settings_, progress_));
  is_sound_ = true;
  saved_ns_ = now_ns();
  return {};
}

Status TokenRun::finish() {
  if (is_finished_) return {};
  if (progress_.tokens == 0) {
    output_.reset();
    token_files::remove_unfinished(output_format(options_.format), to_);
    file_.remove();
    if (progress_.skipped > 0)
      return Error(ErrorCode::kCorruptData, fmt::format("all {} documents were left out, the first: {}",
                                                        group_digits(progress_.skipped), progress_.first_skipped))
          .with_hint("bad_text='replace', --bad-text replace takes what can be read of each.");
    return Error(ErrorCode::kInvalidArgument, "the files have no text")
        .with_hint("A file without tokens could not be opened: give files with text.");
  }
  HEADRACE_TRY(save());
  HEADRACE_TRY(output_->finish());
  HEADRACE_TRY(file_.finish(settings_, progress_, token_files::files_of(output_format(options_.format), to_)));
  file_.remove();
  token_files::remove_unfinished(output_format(options_.format), to_);
  return {};
}

}  // namespace headrace::corpora
