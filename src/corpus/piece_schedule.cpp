#include "corpus/piece_schedule.h"

#include <algorithm>
#include <new>
#include <utility>

namespace headrace::corpora {
namespace {

/// Files that are read at once, at most. Each holds what its codec needs.
constexpr std::size_t kMostOpenFiles = 4;

}  // namespace

PieceSchedule::PieceSchedule(const std::vector<CorpusFile>& files, CorpusPlace start, std::size_t most_pieces,
                             OpenPieces open, TakePiece take)
    : files_(files),
      start_(start),
      most_pieces_(most_pieces),
      open_(std::move(open)),
      take_(std::move(take)),
      writing_file_(start.file) {}

void PieceSchedule::fail(Error error) {
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
}

/// Hands over whatever is next in order. \return True if there was something.
bool PieceSchedule::write_ready(Lock& lock) {
  if (is_writing_ || writing_file_ >= files_.size()) return false;
  File& file = open_files_[writing_file_];
  if (file.pieces.empty()) {
    if (!file.is_read) return false;
    open_files_.erase(writing_file_++);
    changed_.notify_all();
    return true;
  }
  if (file.pieces.front()->state != Piece::State::kEncoded) return false;
  const std::unique_ptr<Piece> piece = std::move(file.pieces.front());
  file.pieces.pop_front();
  is_writing_ = true;
  const std::size_t number = writing_file_;
  lock.unlock();
  Status status = take_(number, piece->text, piece->encoded);
  if (status.ok() && piece->encoded.error) status = std::move(*piece->encoded.error);
  lock.lock();
  is_writing_ = false;
  --pieces_;
  if (!status.ok()) fail(std::move(status.error()));
  changed_.notify_all();
  return true;
}

bool PieceSchedule::encode_one(Lock& lock, PieceEncoder& encoder) {
  for (auto& [number, file] : open_files_) {
    for (const std::unique_ptr<Piece>& each : file.pieces) {
      if (each->state != Piece::State::kRead) continue;
      Piece& piece = *each;
      piece.state = Piece::State::kEncoding;
      lock.unlock();
      piece.encoded = encoder.encode(files_[number], piece.text);
      piece.text.bytes = {};
      lock.lock();
      piece.state = Piece::State::kEncoded;
      changed_.notify_all();
      return true;
    }
  }
  return false;
}

Result<TextPiece> PieceSchedule::read_piece(std::size_t number, File& file) {
  if (!file.reader) {
    HEADRACE_ASSIGN(PieceReader reader, open_(files_[number]));
    file.reader = std::make_unique<PieceReader>(std::move(reader));
    if (number == start_.file && start_.offset > 0) HEADRACE_TRY(file.reader->skip_to(start_.offset, start_.line));
  }
  return file.reader->next();
}

bool PieceSchedule::read_one(Lock& lock) {
  for (std::size_t number = writing_file_; number < std::min(files_.size(), writing_file_ + kMostOpenFiles); ++number) {
    File& file = open_files_[number];
    if (file.is_being_read || file.is_read) continue;
    // The file that is written next may always go on, or nothing would; the others leave it room.
    const std::size_t most = number == writing_file_ ? most_pieces_ : most_pieces_ - most_pieces_ / 4;
    if (pieces_ >= most && !(number == writing_file_ && file.pieces.empty())) return false;
    file.is_being_read = true;
    ++pieces_;
    lock.unlock();
    auto read = read_piece(number, file);
    lock.lock();
    auto piece = std::make_unique<Piece>();
    file.is_being_read = false;
    file.is_read = !read.ok() || read->is_last;
    if (read.ok()) {
      piece->text = std::move(*read);
    } else {  // it fails when its turn comes, so that what is before it is written in any case
      piece->encoded.error = std::move(read.error());
      piece->state = Piece::State::kEncoded;
    }
    if (file.is_read) file.reader.reset();
    file.pieces.push_back(std::move(piece));
    changed_.notify_all();
    return true;
  }
  return false;
}

Status PieceSchedule::work(PieceEncoder& encoder) {
  // Whatever ends one thread ends all: the others would wait for its piece.
  const auto end_with = [&](Error error) {
    const std::lock_guard lock(mutex_);
    fail(std::move(error));
    return *error_;
  };
  try {
    return work_on(encoder);
  } catch (const Error& error) {
    return end_with(error);
  } catch (const std::bad_alloc&) {
    return end_with(Error(ErrorCode::kOutOfBudget, "the system gives no more memory"));
  } catch (const std::exception& error) {
    return end_with(Error(ErrorCode::kInternal, error.what()));
  }
}

Status PieceSchedule::work_on(PieceEncoder& encoder) {
  Lock lock(mutex_);
  while (!error_ && writing_file_ < files_.size()) {
    if (write_ready(lock) || encode_one(lock, encoder) || read_one(lock)) continue;
    changed_.wait(lock);
  }
  if (error_) return *error_;
  return {};
}

}  // namespace headrace::corpora
