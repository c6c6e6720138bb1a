// Tokenizers: text as ids of a vocabulary, and back. Byte-level BPE, exactly as tiktoken and tokenizers encode it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// What is said of a .tiktoken file, which has ranks and nothing else.
struct TokenizerOptions {
  /// How text is divided into words: "gpt2", "cl100k" or "llama3". Empty: what the file or its name says.
  std::string grammar = {};
  /// Special words and their ids, which are looked for on request.
  std::map<std::string, std::uint32_t> special = {};
};

/// How text is encoded.
struct EncodeOptions {
  /// Look for every special word. Without it and `special`, such words in a text are ordinary text.
  bool all_special = false;
  /// Look for these special words.
  std::vector<std::string> special = {};
  /// Threads to encode with, of which the caller's is one; 0: as many as this process may use, but one for each MiB at
  /// most.
  int threads = 0;
};

/// The tokens of several texts, one text after the other.
class EncodedTexts {
 public:
  struct Impl;
  explicit EncodedTexts(std::shared_ptr<const Impl> impl);  ///< For the library: a Tokenizer makes them.

  /// Return the number of tokens.
  [[nodiscard]] std::uint64_t size() const;
  /// Return where texts begin and, at the end, size(): one entry more than there are texts.
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const;
  /// Write all tokens. \param out  size() of them. Throws kInvalidArgument: another size.
  void copy_to(std::span<std::uint32_t> out) const;
  /// Write all tokens where a vocabulary has 65,536 or less. Throws as above, or where it has more.
  void copy_to(std::span<std::uint16_t> out) const;

 private:
  std::shared_ptr<const Impl> impl_;
};

/// A tokenizer. A light handle: copies share the vocabulary and what was learned of words.
/// Threads: all members from any thread. Errors: every member throws headrace::Error.
class Tokenizer {
 public:
  struct Impl;
  /// Open a tokenizer.json, a .tiktoken file, a folder with vocab.json and merges.txt or with encoder.json and
  /// vocab.bpe, or a name: "gpt2", "r50k_base", "p50k_base", "cl100k_base" or Hugging Face's "org/name", which are
  /// looked for where tiktoken and Hugging Face keep what they fetched. Throws kNotFound: nothing is there;
  /// kUnsupported: it would need what is not done here, by its name; kCorruptData: it contradicts itself;
  /// kInvalidArgument: ranks of unknown grammar.
  explicit Tokenizer(const std::string& path_or_name, const TokenizerOptions& options = {});

  /// Encode texts in UTF-8. A byte of ill-formed UTF-8 is neither letter nor number nor space, and is kept. Merges
  /// only: nothing is put before or behind a text. Throws kInvalidArgument: a special word that there is not, a text of
  /// 4 GiB or more; kUnsupported: a special word that takes the whitespace beside it.
  [[nodiscard]] EncodedTexts encode_batch(std::span<const std::string_view> texts,
                                          const EncodeOptions& options = {}) const;
  /// Encode one text.
  [[nodiscard]] std::vector<std::uint32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Return the bytes of tokens, which need not be whole characters. Throws kInvalidArgument: an id that there is not.
  [[nodiscard]] std::string decode(std::span<const std::uint32_t> ids) const;

  /// Return the largest id, and one.
  [[nodiscard]] std::uint64_t vocab_size() const;
  /// Return the name: that of the file or its folder, or the one that was asked for.
  [[nodiscard]] const std::string& name() const;
  /// Return what tells it from others of its name: a hash of vocabulary, merges, grammar and added words.
  [[nodiscard]] const std::string& hash() const;
  /// Return how text is divided into words: "gpt2", "cl100k" or "llama3".
  [[nodiscard]] std::string grammar() const;
  /// Return the id that stands between documents: that of "<|endoftext|>", "<|end_of_text|>", "</s>" or "<eos>",
  /// whichever is the first to be an added word; nullopt: none is.
  [[nodiscard]] std::optional<std::uint32_t> end_of_text() const;
  /// Return the special words and their ids.
  [[nodiscard]] std::map<std::string, std::uint32_t> special() const;
  /// Return what its user should know, a sentence each, such as ids that the file has otherwise.
  [[nodiscard]] const std::vector<std::string>& notices() const;

 private:
  friend class TextEncoder;
  std::shared_ptr<const Impl> impl_;
};

/// Encodes one text after the other on the caller's thread, and keeps what it learned of words.
/// Threads: one at a time; as many encoders as there are threads may share a tokenizer.
class TextEncoder {
 public:
  /// Make an encoder. \param options  As for Tokenizer::encode_batch(); `threads` decides nothing. Throws what that
  /// throws of them.
  explicit TextEncoder(const Tokenizer& tokenizer, const EncodeOptions& options = {});
  ~TextEncoder();
  TextEncoder(TextEncoder&&) noexcept;             ///< Moves what was learned.
  TextEncoder& operator=(TextEncoder&&) noexcept;  ///< Moves what was learned.

  /// Keep what is learned of words within so many bytes, of some 80 MiB that it may be. \return What it takes in any
  /// case: the vocabulary's own words.
  std::size_t limit_memory(std::size_t bytes);
  /// Append the tokens of a text. Throws kInvalidArgument: a text of 4 GiB or more.
  void encode(std::string_view text, std::vector<std::uint32_t>& ids);
  /// Return the last place, other than its start and its end, where a text may be divided, so that the tokens of both
  /// parts, one after the other, are those of the whole; 0: there is none, or it was not found in the last MiB.
  /// What follows `text` has no influence.
  [[nodiscard]] std::size_t last_cut(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
