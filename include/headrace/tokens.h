// Tokens: files of token numbers, as rows for windows() and as documents; and how such files are written.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// What is said of files of tokens that do not say it themselves, and how they are opened.
struct TokenOptions {
  /// Type of the numbers in raw files: "u2" or "uint16", "u4" or "uint32", and so on, little-endian. Empty: what the
  /// files say, or what `vocab_size` needs. Where files say another, it is an error.
  std::string dtype = {};
  /// How many ids the tokenizer has; 0: nothing is said. The first MiB of each file is compared with it.
  std::uint64_t vocab_size = 0;
  /// Compare every id with the vocabulary, not the first MiB only, and files with the checksums that they have: reads
  /// all of the files.
  bool check = false;
  /// Called after a file was opened, and while ids are checked, with how many are done and how many there are; false
  /// stops with kCancelled. May be empty.
  std::function<bool(std::uint64_t files_open, std::uint64_t files)> progress = {};
};

/// Opened files of tokens: one number a token, the tokens of all files one after the other. A light handle: copies
/// share the open files.
/// Threads: const members from any thread. Errors: every member throws headrace::Error.
class Tokens {
 public:
  struct Impl;
  explicit Tokens(std::shared_ptr<const Impl> impl);  ///< For the library: open_tokens() makes them.

  /// Return the number of tokens.
  [[nodiscard]] std::uint64_t size() const;
  /// Return the number of documents; nullopt: not every file says where documents end.
  [[nodiscard]] std::optional<std::uint64_t> num_documents() const;
  /// Return the type of a token, as stored.
  [[nodiscard]] DType dtype() const;
  /// Return how the files are stored: "raw", "npy", "megatron", "datatrove", "headrace"; "mixed": several ways.
  [[nodiscard]] std::string kind() const;
  /// Return the size of the vocabulary that was said, or that the files say; 0: nothing says it.
  [[nodiscard]] std::uint64_t vocab_size() const;
  /// Return the name of the tokenizer, where the files say one; else it is empty.
  [[nodiscard]] std::string tokenizer() const;
  /// Return what tells the tokenizer from others of its name, where the files say it; else it is empty.
  [[nodiscard]] std::string tokenizer_hash() const;
  /// Return the tokens as a data set: one field "tokens", a number a row. windows() makes samples of them.
  [[nodiscard]] const Dataset& rows() const;
  /// Return a data set whose samples are the documents: one ragged field "tokens". Reads the indexes of all files, and
  /// keeps 8 bytes for each document. Throws kCorruptData: an index that contradicts itself or its tokens, with the
  /// place; kUnsupported: a file of which nothing says where documents end, or no document at all.
  [[nodiscard]] Dataset documents() const;
  /// Return a table for people.
  [[nodiscard]] std::string describe() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Open files of tokens: raw numbers (nanoGPT's .bin), .npy files of one axis, Megatron's .bin with an .idx beside it
/// (either name, or the name without ending), datatrove's .ds, and Headrace's own folders. Reads headers, the ends of
/// indexes, and the first MiB of each file; the time does not depend on how many tokens or documents there are.
/// \param paths  Paths, globs and folders.
/// Throws what opening throws; kInvalidArgument: a raw file and neither a type nor a vocabulary, words that contradict
/// the files, files of several types; kCorruptData: an empty file, one that was cut short, an index of another file,
/// ids outside of the vocabulary, each with the place.
Tokens open_tokens(const std::vector<std::string>& paths, const TokenOptions& options = {});

/// How files of tokens are written.
enum class TokenFormat : std::uint8_t {
  kHeadrace,  ///< A folder of .npy files with a manifest; says documents, vocabulary and tokenizer.
  kNanogpt,   ///< A .bin file of numbers alone. It does not say where documents end.
  kMegatron,  ///< A .bin and an .idx file, byte for byte as Megatron-LM writes them: a sequence a document.
};

/// Options of TokenWriter.
struct TokenWriterOptions {
  TokenFormat format = TokenFormat::kHeadrace;  ///< Which files are written.
  /// Type of the numbers; empty: what `vocab_size` needs, as readers of the format expect it. One of both is needed.
  std::string dtype = {};
  std::uint64_t vocab_size = 0;                         ///< Ids must be below it; 0: whatever the type holds.
  std::optional<std::uint32_t> end_of_text = {};        ///< An id that is written behind each document; nullopt: none.
  std::string tokenizer = {};                           ///< Name of the tokenizer, for the manifest.
  std::string tokenizer_hash = {};                      ///< What tells it from others of the name, for the manifest.
  std::uint64_t shard_tokens = std::uint64_t{1} << 30;  ///< A shard of a folder ends with the document that reaches it.
};

/// Writes a file of tokens, or a folder. Nothing stands under the final name before finish(); what is there when the
/// writer goes away without it is removed. Keeps 8 bytes for each document in memory, for Megatron 4.
/// Threads: one at a time. Errors: every member throws headrace::Error; after one, only the destructor may follow.
class TokenWriter {
 public:
  /// Begin. \param path  The folder, the .bin file, or for Megatron that name with or without an ending.
  /// Throws kInvalidArgument: something is there already, no type; kWriteFailed.
  TokenWriter(const std::string& path, const TokenWriterOptions& options);
  ~TokenWriter();
  TokenWriter(TokenWriter&&) noexcept;             ///< Moves what was begun.
  TokenWriter& operator=(TokenWriter&&) noexcept;  ///< Moves what was begun; what was there is removed.

  /// Write tokens of the document that is open. Throws kInvalidArgument: an id that the vocabulary or the type does
  /// not have, and none of them is written; kWriteFailed.
  void append(std::span<const std::uint32_t> ids);
  /// End the document that is open; it may be empty.
  void end_document();
  /// End the document that is open, if it has tokens, and give the files their names. Throws kInvalidArgument: no
  /// token was written; kWriteFailed.
  void finish();
  /// Return how many tokens were written so far.
  [[nodiscard]] std::uint64_t tokens() const;
  /// Return how many documents ended so far.
  [[nodiscard]] std::uint64_t documents() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
