// Texts divided into jobs for threads: stretches of ordinary text between added words, long ones cut where words begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/added_words.h"

namespace headrace::tokenizing {

/// Bytes of a job, about.
inline constexpr std::size_t kJobBytes = std::size_t{1} << 20;

/// A stretch of words, or one added word.
struct TextPiece {
  const std::uint8_t* begin;
  const std::uint8_t* stop;
  const std::uint8_t* end;  ///< Where the text ends, or the next added word begins.
  std::int64_t id;          ///< -1: ordinary text.
  std::size_t text;
};

/// Pieces of all texts in order, and the first piece of each job; a last entry ends them.
struct TextJobs {
  std::vector<TextPiece> pieces;
  std::vector<std::size_t> firsts;
  [[nodiscard]] std::size_t count() const { return firsts.size() - 1; }
};

/// \param job_bytes  As kJobBytes; tests take less.
TextJobs divide_texts(std::span<const std::string_view> texts, const AddedWords& added,
                      std::size_t job_bytes = kJobBytes);

}  // namespace headrace::tokenizing
