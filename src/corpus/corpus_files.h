// The files of a corpus: which they are, and how text lies in each.
#pragma once

#include <headrace/tokenize.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace::corpora {

enum class TextKind : std::uint8_t { kJsonLines, kLines, kWhole };

struct CorpusFile {
  std::string path;
  TextKind kind = TextKind::kWhole;
  std::uint64_t stored_bytes = 0;
  FileFingerprint fingerprint = {};
};

/// Return the files that paths mean, in the order of their documents.
/// Errors: kUnsupported  a kind that is not read, by its name; those of expand_paths() and of opening.
Result<std::vector<CorpusFile>> corpus_files(const std::vector<std::string>& paths, TextDocument document);
/// Return what tells files, tokenizer and options from others that would give other tokens, as JSON.
Result<std::string> settings_text(const std::vector<CorpusFile>& files, const Tokenizer& tokenizer,
                                  const TokenizeOptions& options);

}  // namespace headrace::corpora
