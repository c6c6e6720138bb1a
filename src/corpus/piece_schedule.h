// Which piece is read, encoded and written next, by whichever thread is free.
//
// Files are read several at once, since a compressed one is read by one thread at a time; each file's pieces come in
// order, and what is encoded is written in the order of files and pieces. So many pieces exist at once as memory
// allows: each takes its part of a pool, and files behind the one that is written an eighth of it, so that a long line
// of that one always has room in the end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "corpus/corpus_files.h"
#include "corpus/piece_encoder.h"
#include "corpus/text_piece.h"

namespace headrace::corpora {

/// Bytes of a usual piece, and what a piece holds at once for each: its text, and ids of which there may be one a byte.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20, kPieceCostPerByte = 6;

/// Where a run goes on: a file, and a place in its text where a piece has ended.
struct CorpusPlace {
  std::uint64_t file = 0, offset = 0, line = 1;
};

/// Opens the reader of a file.
using OpenPieces = std::function<Result<PieceReader>(const CorpusFile&)>;
/// Takes encoded pieces, in order. \param piece  Its text is gone, its place is there.
using TakePiece = std::function<Status(std::size_t file, const TextPiece& piece, EncodedPiece& encoded)>;

/// Threads: work() from as many as there are; take is called by one at a time.
class PieceSchedule {
 public:
  /// \param pool_bytes  What pieces, and the windows of codecs, take between reading and writing.
  PieceSchedule(const std::vector<CorpusFile>& files, CorpusPlace start, std::uint64_t pool_bytes, OpenPieces open,
                TakePiece take);
  /// Work until all is done or something fails. The error is that of the first piece in order that has one, whatever
  /// the number of threads. Blocks: reads, and waits for others.
  Status work(PieceEncoder& encoder);

 private:
  struct Piece {
    TextPiece text;
    EncodedPiece encoded;
    enum class State : std::uint8_t { kRead, kEncoding, kEncoded } state = State::kRead;
    std::uint64_t held_bytes = 0;  ///< What it takes of the pool.
  };
  struct File {
    std::unique_ptr<PieceReader> reader;
    std::deque<std::unique_ptr<Piece>> pieces;  ///< In order; the first was not written yet.
    bool is_being_read = false, is_read = false;
    std::uint64_t held_bytes = 0;     ///< What its pieces and its codec take of the pool.
    std::uint64_t window_bytes = 0;   ///< What its codec takes of that.
    std::uint64_t waiting_bytes = 0;  ///< What its next piece would take; 0: as much as is usual.
  };
  using Lock = std::unique_lock<std::mutex>;

  Status work_on(PieceEncoder& encoder);
  bool write_ready(Lock& lock);
  bool encode_one(Lock& lock, PieceEncoder& encoder);
  bool read_one(Lock& lock);
  Status open_file(std::size_t number, File& file);
  Result<std::optional<TextPiece>> read_piece(std::size_t number, File& file, std::uint64_t& held);
  [[nodiscard]] bool has_room(std::size_t number, std::uint64_t bytes) const;
  [[nodiscard]] bool is_next(std::size_t number, const File& file) const;
  void take_of_pool(File& file, std::uint64_t bytes);
  void give_back(File& file, std::uint64_t bytes);
  void fail(Error error);

  const std::vector<CorpusFile>& files_;
  const CorpusPlace start_;
  const std::uint64_t pool_bytes_;
  const OpenPieces open_;
  const TakePiece take_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, File> open_files_;  ///< From the one that is written on.
  std::size_t writing_file_;
  std::uint64_t used_bytes_ = 0;  ///< What all take of the pool.
  bool is_writing_ = false;
  std::optional<Error> error_;
};

}  // namespace headrace::corpora
