// tokenize(): files of text as files of tokens, once, for any number of epochs.
#pragma once

#include <headrace/tokenizer.h>
#include <headrace/tokens.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace {

/// What is a document in a text file. In JSON Lines, each line is.
enum class TextDocument : std::uint8_t {
  kFile,  ///< A whole file.
  kLine,  ///< Each line that is not blank, without its end.
};

/// What is done about text that is damaged.
enum class BadText : std::uint8_t {
  kError,    ///< Stop, with file and line.
  kReplace,  ///< Put U+FFFD for bytes that are no UTF-8, as Python's errors="replace" does; other damage is an error.
  kSkip,     ///< Leave out the document, and count it.
};

/// Options of tokenize().
struct TokenizeOptions {
  /// Where the text is in a line of JSON: a key, or a JSON Pointer, "/meta/text".
  std::string field = "text";
  TextDocument document = TextDocument::kFile;          ///< What a document is in .txt files.
  BadText bad_text = BadText::kError;                   ///< What is done about damaged text.
  TokenFormat format = TokenFormat::kHeadrace;          ///< Which files are written.
  std::string dtype = {};                               ///< As in TokenWriterOptions.
  bool end_of_text = true;                              ///< Write the tokenizer's end of text behind each document.
  std::string end_of_text_word = {};                    ///< Which word; empty: that of Tokenizer::end_of_text().
  std::uint64_t shard_tokens = std::uint64_t{1} << 30;  ///< As in TokenWriterOptions.
  std::uint32_t threads = 0;                            ///< 0: as many as this process may use.
  std::uint64_t memory_bytes = 0;                       ///< Most memory to hold; 0: what the process's budget has free.
  bool restart = false;                                 ///< Remove what an earlier call left unfinished.
  double checkpoint_seconds = 10;                       ///< How much work a kill may cost.
  /// Called with (bytes of the files that are done, bytes in all); false stops with kCancelled, and the next call goes
  /// on. May be empty.
  std::function<bool(std::uint64_t, std::uint64_t)> progress = {};
};

/// What tokenize() has done.
struct TokenizeResult {
  std::uint64_t files = 0;              ///< Files that were read.
  std::uint64_t documents = 0;          ///< Documents that were written.
  std::uint64_t tokens = 0;             ///< Tokens that were written, ends of text among them.
  std::uint64_t text_bytes = 0;         ///< As it is in the files, decompressed.
  std::uint64_t skipped_documents = 0;  ///< Left out, as `bad_text` asks.
  std::string first_skipped = {};       ///< What was wrong with the first of them, and where.
  std::uint64_t resumed_bytes = 0;      ///< Text that an earlier call had done.
  double seconds = 0;                   ///< How long this call took.
};

/// What tokenize() would do, from a look at parts of some files.
struct TokenizeEstimate {
  std::uint64_t files = 0;         ///< Number of files.
  std::uint64_t stored_bytes = 0;  ///< What they are on the disk.
  std::uint64_t text_bytes = 0;    ///< Text in them, decompressed; about.
  std::uint64_t tokens = 0;        ///< Tokens that they become, about.
  std::uint64_t token_bytes = 0;   ///< What those take on the disk, about.
  double bytes_per_second = 0;     ///< Text of one thread, on this machine, about.
  std::uint32_t threads = 0;       ///< Threads that would work.
  double seconds = 0;              ///< About, with so many threads.
};

/// Say what tokenize() would cost. Reads the beginnings of up to eight files. Throws as tokenize() does.
TokenizeEstimate estimate_tokenize(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                                   const TokenizeOptions& options = {});

/// Write the tokens of text files: .txt and others as text, .jsonl, .ndjson and .json with an object a line, each also
/// with .gz or .zst behind. Files and documents keep their order; the output is the same for any number of threads.
/// While it works, `to` is called TO.unfinished, and TO.progress says how far it is: the same call after a kill goes on
/// there. TO.done notes what was finished, and the same call does nothing then. \param to  As for TokenWriter.
/// Throws kInvalidArgument: something is at `to`, or an unfinished output of other settings; kCorruptData: damaged
/// text, JSON or compression, with the file and the line; kUnsupported: files of another kind; kOutOfBudget: a line or
/// a document that cannot be divided is larger than the memory; kWriteFailed; kFileChanged; kCancelled.
TokenizeResult tokenize(const std::vector<std::string>& paths, const std::string& to, const Tokenizer& tokenizer,
                        const TokenizeOptions& options = {});

/// Return what decides the tokens: a text of the files (path, size, time), the tokenizer and the options. Two equal
/// ones give equal outputs.
std::string tokenize_settings(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                              const TokenizeOptions& options = {});

}  // namespace headrace
