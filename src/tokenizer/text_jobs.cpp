#include "tokenizer/text_jobs.h"

#include <algorithm>

#include "tokenizer/words/grammar.h"

namespace headrace::tokenizing {
namespace {

/// Cuts ordinary text about each job_bytes, at the next place where a word surely begins.
void cut(const AddedWords::TextPart& part, std::size_t text, std::size_t job_bytes, std::vector<TextPiece>& pieces) {
  const std::uint8_t* begin = part.begin;
  while (static_cast<std::size_t>(part.end - begin) > job_bytes) {
    const std::uint8_t* p = begin + job_bytes;
    while (p < part.end && !is_word_start(p, part.end)) ++p;
    if (p == part.end) break;
    pieces.push_back({begin, p, part.end, -1, text});
    begin = p;
  }
  pieces.push_back({begin, part.end, part.end, -1, text});
}

}  // namespace

TextJobs divide_texts(std::span<const std::string_view> texts, const AddedWords& added, std::size_t job_bytes) {
  TextJobs jobs;
  std::vector<AddedWords::TextPart> parts;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(texts[i].data());
    const std::uint8_t* end = begin + texts[i].size();
    parts.clear();
    if (!added.empty()) {
      added.find(begin, end, parts);
    } else if (begin < end) {
      parts.push_back({begin, end, -1});
    }
    for (const AddedWords::TextPart& part : parts) {
      if (part.id < 0) {
        cut(part, i, job_bytes, jobs.pieces);
      } else {
        jobs.pieces.push_back({part.begin, part.end, part.end, part.id, i});
      }
    }
  }
  for (std::size_t i = 0; i < jobs.pieces.size(); ++i) {
    if (i == 0 || bytes >= job_bytes) jobs.firsts.push_back(i), bytes = 0;
    bytes += static_cast<std::size_t>(jobs.pieces[i].stop - jobs.pieces[i].begin);
  }
  jobs.firsts.push_back(jobs.pieces.size());
  return jobs;
}

}  // namespace headrace::tokenizing
