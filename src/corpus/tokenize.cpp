// tokenize(): threads that read, encode and write the pieces of a corpus.
#include <headrace/tokenize.h>

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "base/clock.h"
#include "base/machine/cpu_count.h"
#include "base/memory/memory_budget.h"
#include "base/threads/parallel.h"
#include "corpus/corpus_files.h"
#include "corpus/token_run.h"
#include "corpus/whole_text.h"
#include "dataset/tokens/token_numbers.h"
#include "storage/file_system.h"
#include "storage/fingerprint.h"

namespace headrace {
namespace corpora {
namespace {

constexpr std::uint64_t kPieceCost = kPieceCostPerByte * kPieceBytes;
/// What a thread learns of words, at most, and what a pool of few pieces and long lines is worth of it.
constexpr std::uint64_t kThreadBytes = std::uint64_t{80} << 20, kShareOfThreads = 8;
constexpr std::uint64_t kFilesCost = std::uint64_t{12} << 20;  // what is read ahead, and what the output buffers
constexpr std::uint64_t kLeastPieces = 2, kPiecesPerThread = 4;
constexpr std::uint64_t kLongLines = std::uint64_t{1} << 30;  // where no memory is given

struct Means {
  MemoryReservation memory;
  std::uint64_t pool_bytes = 0;    ///< For pieces.
  std::uint64_t thread_bytes = 0;  ///< For what each thread learns.
  int threads = 0;
};

/// Divides the memory: what threads need, then pieces and long lines, then what threads can use. \param words_bytes
/// What each thread has of the vocabulary in any case.
Result<Means> means_of(const TokenizeOptions& options, std::uint64_t words_bytes) {
  const auto process = MemoryBudget::process();
  Means means;
  means.threads = options.threads > 0 ? static_cast<int>(options.threads) : usable_cpu_count();
  const auto usual = static_cast<std::uint64_t>(means.threads) * (kThreadBytes + kPiecesPerThread * kPieceCost);
  const std::uint64_t memory =
      options.memory_bytes > 0 ? options.memory_bytes : std::min(process->free_bytes(), usual + kLongLines);
  const auto budget = process->child("tokenize", memory);
  const auto least = [&](int threads) {
    return static_cast<std::uint64_t>(threads) * words_bytes + kLeastPieces * kPieceCost + kFilesCost;
  };
  while (means.threads > 1 && least(means.threads) > memory) --means.threads;
  auto reserved = budget->try_reserve(MemoryTag::kScratch, std::max(least(means.threads), budget->free_bytes()));
  if (!reserved.ok())
    return std::move(
        reserved.error().with_hint(fmt::format("It needs at least {} with this tokenizer: memory=\"{}MiB\".",
                                               format_bytes(least(means.threads)), (least(means.threads) >> 20) + 1)));
  const auto threads = static_cast<std::uint64_t>(means.threads);
  const std::uint64_t held = reserved->bytes();
  means.thread_bytes = std::clamp(held / kShareOfThreads / threads, words_bytes, std::max(words_bytes, kThreadBytes));
  if (held < threads * means.thread_bytes + kLeastPieces * kPieceCost + kFilesCost) means.thread_bytes = words_bytes;
  means.pool_bytes = held - kFilesCost - threads * means.thread_bytes;
  means.memory = std::move(*reserved);
  return means;
}

/// Open the reader of a file. A document that is the whole file is looked at first where damaged ones are left out:
/// what was written of one could not be taken back.
Result<PieceReader> open_pieces(const CorpusFile& file, const TextEncoder& encoder, BadText bad_text) {
  HEADRACE_ASSIGN(auto opened, FileSystem::of(file.path).open(file.path));
  if (const auto change = describe_change(file.fingerprint, opened->fingerprint()))
    return Error(ErrorCode::kFileChanged, "the file changed while it was in use: " + *change)
        .with_file(file.path)
        .with_stage("open")
        .with_hint("Begin anew: restart=True, --restart.");
  HEADRACE_ASSIGN(auto stream, text_files::TextStream::open(std::move(opened)));
  std::string left_out;
  if (file.kind == TextKind::kWhole && bad_text == BadText::kSkip) {
    HEADRACE_ASSIGN(const auto damage, damage_of_text(*stream));
    if (damage) left_out = damage->message();
    HEADRACE_ASSIGN(stream, text_files::TextStream::open(FileSystem::of(file.path).known(file.path, file.fingerprint)));
  }
  PieceReader::LastCut last_cut;
  if (file.kind == TextKind::kWhole) last_cut = [&encoder](std::string_view text) { return encoder.last_cut(text); };
  PieceReader reader(std::move(stream), std::move(last_cut), kPieceBytes);
  if (!left_out.empty()) reader.leave_out(std::move(left_out));
  return reader;
}

Result<TokenizeResult> tokenize_files(const std::vector<std::string>& paths, const std::string& to,
                                      const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const std::uint64_t began_ns = now_ns();
  HEADRACE_ASSIGN(const std::vector<CorpusFile> files, corpus_files(paths, options.document));
  HEADRACE_ASSIGN(std::string settings, settings_text(files, tokenizer, options));
  TextEncoder cutter(tokenizer);
  HEADRACE_ASSIGN(Means means, means_of(options, cutter.limit_memory(0)));
  std::vector<PieceEncoder> encoders;
  for (int i = 0; i < means.threads; ++i) {
    HEADRACE_ASSIGN(PieceEncoder encoder, PieceEncoder::make(tokenizer, options));
    encoder.limit_memory(means.thread_bytes);
    encoders.push_back(std::move(encoder));
  }
  HEADRACE_ASSIGN(const auto run, TokenRun::begin(to, tokenizer, options, std::move(settings)));
  TokenizeResult result;
  result.resumed_bytes = run->progress().text_bytes;
  std::vector<std::uint64_t> before{0};
  for (const CorpusFile& file : files) before.push_back(before.back() + file.stored_bytes);
  const TakePiece take = [&](std::size_t file, const TextPiece& piece, const EncodedPiece& encoded) -> Status {
    HEADRACE_TRY(run->take(file, piece, encoded));
    if (!options.progress || options.progress(before[file] + piece.end_stored_offset, before.back())) return {};
    return Error(ErrorCode::kCancelled, "stopped; the same call goes on from here");
  };
  const OpenPieces open = [&](const CorpusFile& file) { return open_pieces(file, cutter, options.bad_text); };
  PieceSchedule schedule(files, run->progress().place, means.pool_bytes, open, take);
  Status status = run_parallel(means.threads, "tokenize", [&](int i, const std::stop_token&) {
    return schedule.work(encoders[static_cast<std::size_t>(i)]);
  });
  if (!status.ok()) {
    static_cast<void>(run->save());  // what was done need not be done again; that it failed is what there is to tell
    return std::move(status.error());
  }
  HEADRACE_TRY(run->finish());
  const RunProgress& done = run->progress();
  result.files = files.size();
  result.documents = done.documents;
  result.tokens = done.tokens;
  result.text_bytes = done.text_bytes;
  result.skipped_documents = done.skipped;
  result.first_skipped = done.first_skipped;
  result.seconds = static_cast<double>(now_ns() - began_ns) / 1e9;
  return result;
}

/// Files to look into: up to so many, evenly spread.
constexpr std::size_t kSampledFiles = 8;

Result<TokenizeEstimate> estimate(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                                  const TokenizeOptions& options) {
  HEADRACE_ASSIGN(const std::vector<CorpusFile> files, corpus_files(paths, options.document));
  HEADRACE_ASSIGN(PieceEncoder encoder, PieceEncoder::make(tokenizer, options));
  HEADRACE_ASSIGN(const TokenWriterOptions writer, writer_options(tokenizer, options));
  const TextEncoder cutter(tokenizer);
  TokenizeEstimate found;
  found.files = files.size();
  for (const CorpusFile& file : files) found.stored_bytes += file.stored_bytes;
  std::uint64_t stored = 0, text = 0, tokens = 0, time_ns = 0;
  const std::size_t samples = std::min(files.size(), kSampledFiles);
  for (std::size_t i = 0; i < samples; ++i) {
    const CorpusFile& file = files[i * files.size() / samples];
    HEADRACE_ASSIGN(PieceReader reader, open_pieces(file, cutter, BadText::kReplace));
    const std::uint64_t began_ns = now_ns();
    const std::uint64_t most = MemoryBudget::process()->free_bytes() / kPieceCostPerByte;
    HEADRACE_ASSIGN(const auto read, reader.next([&](std::size_t bytes) {
      return bytes <= most ? PieceReader::Room::kYes : PieceReader::Room::kLater;
    }));
    if (!read) continue;  // what it is says the work itself
    const TextPiece& piece = *read;
    EncodedPiece encoded = encoder.encode(file, piece);
    if (encoded.error && options.bad_text == BadText::kSkip) continue;  // a document that will be left out
    if (encoded.error) return std::move(*encoded.error);
    time_ns += now_ns() - began_ns;
    stored += piece.end_stored_offset;
    text += piece.end_offset;
    tokens += encoded.ids.size() + encoded.ends.size() * (writer.end_of_text ? 1 : 0);
  }
  if (stored == 0 || text == 0) return found;
  const auto scaled = [](std::uint64_t whole, std::uint64_t part, std::uint64_t of) {
    return static_cast<std::uint64_t>(static_cast<double>(whole) * static_cast<double>(part) / static_cast<double>(of));
  };
  found.text_bytes = scaled(found.stored_bytes, text, stored);
  found.tokens = scaled(found.text_bytes, tokens, text);
  found.token_bytes = found.tokens * type_to_write(writer).itemsize;
  found.bytes_per_second = static_cast<double>(text) * 1e9 / static_cast<double>(std::max<std::uint64_t>(time_ns, 1));
  found.threads = options.threads > 0 ? options.threads : static_cast<std::uint32_t>(usable_cpu_count());
  found.seconds = static_cast<double>(found.text_bytes) / found.bytes_per_second / found.threads;
  return found;
}

}  // namespace
}  // namespace corpora

TokenizeResult tokenize(const std::vector<std::string>& paths, const std::string& to, const Tokenizer& tokenizer,
                        const TokenizeOptions& options) {
  return corpora::tokenize_files(paths, to, tokenizer, options).value();
}

TokenizeEstimate estimate_tokenize(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                                   const TokenizeOptions& options) {
  return corpora::estimate(paths, tokenizer, options).value();
}

std::string tokenize_settings(const std::vector<std::string>& paths, const Tokenizer& tokenizer,
                              const TokenizeOptions& options) {
  const auto files = corpora::corpus_files(paths, options.document).value();
  return corpora::settings_text(files, tokenizer, options).value();
}

}  // namespace headrace
