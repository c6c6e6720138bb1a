// tokenize(): threads that read, encode and write the pieces of a corpus.
#include <headrace/corpus/tokenize.h>

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include <algorithm>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/memory_budget.h"
#include "base/parallel.h"
#include "corpus/corpus_files.h"
#include "corpus/token_run.h"
#include "dataset/token_numbers.h"
#include "storage/file_system.h"

namespace headrace {
namespace corpora {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
/// What a piece holds at once: its text, and ids of which there may be one for a byte.
constexpr std::size_t kPieceCost = 6 * kPieceBytes;
/// What a thread keeps: words that it learned, a parser.
constexpr std::size_t kThreadCost = std::size_t{80} << 20;
constexpr std::size_t kFilesCost = std::size_t{16} << 20;

struct Means {
  MemoryReservation memory;
  std::size_t pieces = 0, most_piece_bytes = 0;
  int threads = 0;
};

/// Divides the memory: threads first, then pieces between them. Long lines may take an eighth of all.
Result<Means> means_of(const TokenizeOptions& options) {
  const auto process = MemoryBudget::process();
  const std::uint64_t memory = options.memory_bytes > 0 ? options.memory_bytes : process->free_bytes();
  const auto budget = process->child("tokenize", memory);
  Means means;
  means.threads = options.threads > 0 ? static_cast<int>(options.threads) : usable_cpu_count();
  const auto cost = [&](int threads, std::size_t pieces) {
    return static_cast<std::uint64_t>(threads) * kThreadCost + pieces * kPieceCost + kFilesCost;
  };
  while (means.threads > 1 && cost(means.threads, 2) > memory) --means.threads;
  means.pieces = 4 * static_cast<std::size_t>(means.threads) + 2;
  while (means.pieces > 2 && cost(means.threads, means.pieces) > memory) --means.pieces;
  HEADRACE_ASSIGN(means.memory, budget->try_reserve(MemoryTag::kScratch, cost(means.threads, means.pieces)));
  means.most_piece_bytes = std::max<std::size_t>(8 * kPieceBytes, memory / 8);
  return means;
}

Result<PieceReader> open_pieces(const CorpusFile& file, const TextEncoder& encoder, std::size_t most_bytes) {
  HEADRACE_ASSIGN(auto opened, FileSystem::of(file.path).open(file.path));
  HEADRACE_ASSIGN(auto stream, text_files::TextStream::open(std::move(opened)));
  PieceReader::LastCut last_cut;
  if (file.kind == TextKind::kWhole) last_cut = [&encoder](std::string_view text) { return encoder.last_cut(text); };
  return PieceReader(std::move(stream), std::move(last_cut), kPieceBytes, most_bytes);
}

Result<TokenizeResult> tokenize_files(const std::vector<std::string>& paths, const std::string& to,
                                      const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const std::uint64_t began_ns = now_ns();
  HEADRACE_ASSIGN(const std::vector<CorpusFile> files, corpus_files(paths, options.document));
  HEADRACE_ASSIGN(std::string settings, settings_text(files, tokenizer, options));
  HEADRACE_ASSIGN(Means means, means_of(options));
  std::vector<PieceEncoder> encoders;
  for (int i = 0; i < means.threads; ++i) {
    HEADRACE_ASSIGN(PieceEncoder encoder, PieceEncoder::make(tokenizer, options));
    encoders.push_back(std::move(encoder));
  }
  const TextEncoder cutter(tokenizer);
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
  const OpenPieces open = [&](const CorpusFile& file) { return open_pieces(file, cutter, means.most_piece_bytes); };
  PieceSchedule schedule(files, run->progress().place, means.pieces, open, take);
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
    HEADRACE_ASSIGN(PieceReader reader, open_pieces(file, cutter, std::size_t{1} << 30));
    const std::uint64_t began_ns = now_ns();
    HEADRACE_ASSIGN(const TextPiece piece, reader.next());
    EncodedPiece encoded = encoder.encode(file, piece);
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
