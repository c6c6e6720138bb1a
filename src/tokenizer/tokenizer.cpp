#include <fmt/format.h>
#include <headrace/tokenizer.h>

#include <algorithm>
#include <atomic>

#include "base/machine/cpu_count.h"
#include "base/memory/page_buffer.h"
#include "base/threads/parallel.h"
#include "tokenizer/added_words.h"
#include "tokenizer/text_jobs.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocabulary/open_vocabulary.h"

namespace headrace {

using namespace tokenizing;  // NOLINT(google-build-using-namespace): the layer's own

/// Ids lie in one piece of memory, as wide as they need be, in which each job has a place for as many as its text has
/// bytes: what is not written is not resident, and in huge pages the rest costs few faults.
struct EncodedTexts::Impl {
  struct Job {
    std::size_t place = 0, count = 0;
  };
  [[nodiscard]] bool narrow() const { return vocab_size <= 65536; }
  template <class T>
  [[nodiscard]] T* ids() const {
    return reinterpret_cast<T*>(memory.data());
  }
  /// Make the places.
  void prepare(const TextJobs& texts) {
    jobs.resize(texts.count());
    std::size_t bytes = 0;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      jobs[job].place = bytes;
      for (std::size_t i = texts.firsts[job]; i < texts.firsts[job + 1]; ++i)
        bytes += static_cast<std::size_t>(texts.pieces[i].stop - texts.pieces[i].begin);
    }
    memory = PageBuffer::allocate(bytes * (narrow() ? 2 : 4)).value();
  }
  /// Keep what became of a job. Threads: one a job.
  void keep(Job& job, std::span<const std::uint32_t> found) const {
    job.count = found.size();
    if (narrow()) {
      std::ranges::transform(found, ids<std::uint16_t>() + job.place, narrowed<std::uint16_t>);
    } else {
      std::ranges::copy(found, ids<std::uint32_t>() + job.place);
    }
  }
  template <class T>
  static T narrowed(std::uint32_t id) {
    return static_cast<T>(id);
  }

  PageBuffer memory;
  std::vector<Job> jobs;
  std::vector<std::int64_t> offsets;
  std::uint64_t vocab_size = 0;
};

namespace {

Status encode_job(const WordEncoder& encoder, std::span<const TextPiece> pieces, LearnedWords& learned,
                  std::vector<std::uint32_t>& ids, std::int64_t* counts) {
  for (const TextPiece& piece : pieces) {
    const std::size_t before = ids.size();
    if (piece.id >= 0) {
      ids.push_back(static_cast<std::uint32_t>(piece.id));
    } else {
      encoder.encode(piece.begin, piece.stop, piece.end, learned, ids);
    }
    *counts++ = static_cast<std::int64_t>(ids.size() - before);
  }
  return {};
}

int threads_for(int asked, std::size_t jobs) {
  const int most = static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(jobs, 1), 1024));
  return std::min(asked > 0 ? asked : jobs > 1 ? usable_cpu_count() : 1, most);
}

template <class T>
void copy_jobs(const EncodedTexts::Impl& impl, std::span<T> out) {
  if (out.size() != static_cast<std::uint64_t>(impl.offsets.back()))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens do not go into an array of {}", impl.offsets.back(), out.size()));
  if (sizeof(T) == 2 && impl.vocab_size > 65536)
    throw Error(ErrorCode::kInvalidArgument, "ids of this vocabulary are larger than 16 bits");
  T* to = out.data();
  for (const EncodedTexts::Impl::Job& job : impl.jobs)
    to = impl.narrow() ? std::copy_n(impl.ids<std::uint16_t>() + job.place, job.count, to)
                       : std::transform(impl.ids<std::uint32_t>() + job.place,
                                        impl.ids<std::uint32_t>() + job.place + job.count, to, impl.narrowed<T>);
}

}  // namespace

EncodedTexts::EncodedTexts(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
std::uint64_t EncodedTexts::size() const {
  return static_cast<std::uint64_t>(impl_->offsets.back());
}
const std::vector<std::int64_t>& EncodedTexts::offsets() const {
  return impl_->offsets;
}
void EncodedTexts::copy_to(std::span<std::uint32_t> out) const {
  copy_jobs(*impl_, out);
}
void EncodedTexts::copy_to(std::span<std::uint16_t> out) const {
  copy_jobs(*impl_, out);
}

Tokenizer::Tokenizer(const std::string& path_or_name, const TokenizerOptions& options)
    : impl_(std::make_shared<const Impl>(open_vocabulary(path_or_name, {options.grammar, options.special}).value())) {}

EncodedTexts Tokenizer::encode_batch(std::span<const std::string_view> texts, const EncodeOptions& options) const {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].size() > kMostTextBytes)
      throw Error(ErrorCode::kInvalidArgument, fmt::format("text {} has {} bytes", i, texts[i].size()))
          .with_hint("Divide it: a text is shorter than 4 GiB.");
  const AddedWords added = AddedWords::make(impl_->vocabulary, {options.all_special, options.special}).value();
  const TextJobs jobs = divide_texts(texts, added);
  auto result = std::make_shared<EncodedTexts::Impl>();
  result->vocab_size = vocab_size();
  result->prepare(jobs);
  std::vector<std::int64_t> counts(jobs.pieces.size());
  std::atomic<std::size_t> next = 0;
  const ParallelBody body = [&](int, const std::stop_token& stop) -> Status {
    auto learned = impl_->take();
    for (std::size_t job = next++; job < jobs.count() && !stop.stop_requested(); job = next++) {
      const std::size_t first = jobs.firsts[job];
      const std::span pieces = std::span(jobs.pieces).subspan(first, jobs.firsts[job + 1] - first);
      learned->ids.clear();
      HEADRACE_TRY(encode_job(impl_->encoder, pieces, *learned, learned->ids, counts.data() + first));
      result->keep(result->jobs[job], learned->ids);
    }
    impl_->give(std::move(learned));
    return {};
  };
  run_parallel(threads_for(options.threads, jobs.count()), "tokenize", body).value();
  result->offsets.assign(texts.size() + 1, 0);
  for (std::size_t i = 0; i < jobs.pieces.size(); ++i) result->offsets[jobs.pieces[i].text + 1] += counts[i];
  for (std::size_t i = 0; i < texts.size(); ++i) result->offsets[i + 1] += result->offsets[i];
  return EncodedTexts(std::move(result));
}

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const EncodedTexts encoded = encode_batch({&text, 1}, options);
  std::vector<std::uint32_t> ids(encoded.size());
  encoded.copy_to(ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids) const {
  const auto& tokens = impl_->vocabulary.tokens;
  std::string bytes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= tokens.size() || !tokens[ids[i]])
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("token {} is {}, and the vocabulary {}", i, ids[i],
                              ids[i] < tokens.size() ? std::string("has no such id")
                                                     : fmt::format("ends with {}", tokens.size() - 1)));
    bytes += *tokens[ids[i]];
  }
  return bytes;
}

std::uint64_t Tokenizer::vocab_size() const {
  return impl_->vocabulary.tokens.size();
}
const std::string& Tokenizer::name() const {
  return impl_->vocabulary.name;
}
const std::string& Tokenizer::hash() const {
  return impl_->vocabulary.hash;
}
std::string Tokenizer::grammar() const {
  return std::string(to_string(impl_->vocabulary.grammar));
}

std::optional<std::uint32_t> Tokenizer::end_of_text() const {
  for (const char* text : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
    for (const AddedWord& word : impl_->vocabulary.added)
      if (word.text == text) return word.id;
  return std::nullopt;
}

std::map<std::string, std::uint32_t> Tokenizer::special() const {
  std::map<std::string, std::uint32_t> words;
  for (const AddedWord& word : impl_->vocabulary.added)
    if (word.special) words.emplace(word.text, word.id);
  return words;
}

const std::vector<std::string>& Tokenizer::notices() const {
  return impl_->vocabulary.notices;
}

}  // namespace headrace
