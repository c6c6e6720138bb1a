#include "corpus/piece_schedule.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <new>
#include <utility>

namespace headrace::corpora {
namespace {

/// Files that are read at once, at most. Each holds what its codec needs.
constexpr std::size_t kMostOpenFiles = 4;
/// The part of the pool that they may take, one of so many.
constexpr std::uint64_t kShareAhead = 8;

}  // namespace

PieceSchedule::PieceSchedule(const std::vector<CorpusFile>& files, CorpusPlace start, std::uint64_t pool_bytes,
                             OpenPieces open, TakePiece take)
    : files_(files),
      start_(start),
      pool_bytes_(pool_bytes),
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
  give_back(open_files_[number], piece->held_bytes);
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

/// Whether a file may take so much more of the pool. With the lock.
bool PieceSchedule::has_room(std::size_t number, std::uint64_t bytes) const {
  const auto writing = open_files_.find(writing_file_);
  const std::uint64_t ahead = used_bytes_ - (writing == open_files_.end() ? 0 : writing->second.held_bytes);
  if (number != writing_file_ && ahead + bytes > pool_bytes_ / kShareAhead) return false;
  return used_bytes_ + bytes <= pool_bytes_;
}

void PieceSchedule::take_of_pool(File& file, std::uint64_t bytes) {
  used_bytes_ += bytes;
  file.held_bytes += bytes;
}

void PieceSchedule::give_back(File& file, std::uint64_t bytes) {
  used_bytes_ -= bytes;
  file.held_bytes -= bytes;
}

/// True if nothing that goes on now could give a file more room. With the lock.
bool PieceSchedule::is_next(std::size_t number, const File& file) const {
  return number == writing_file_ && file.pieces.empty() && !is_writing_;
}

Status PieceSchedule::open_file(std::size_t number, File& file) {
  const CorpusFile& of = files_[number];
  HEADRACE_ASSIGN(PieceReader reader, open_(of));
  file.reader = std::make_unique<PieceReader>(std::move(reader));
  if (number == start_.file && start_.offset > 0) HEADRACE_TRY(file.reader->skip_to(start_.offset, start_.line));
  return {};
}

/// Read a file's next piece, and take of the pool what it needs beyond the usual. \return Nothing: there is no room
/// now.
Result<std::optional<TextPiece>> PieceSchedule::read_piece(std::size_t number, File& file, std::uint64_t& held) {
  if (!file.reader) HEADRACE_TRY(open_file(number, file));
  if (const std::uint64_t window = file.reader->stream().window_bytes(); window > file.window_bytes) {
    const Lock lock(mutex_);
    if (!has_room(number, window)) {
      if (number != writing_file_) return std::optional<TextPiece>();
      return Error(ErrorCode::kOutOfBudget, fmt::format("its zstd window of {} does not fit", format_bytes(window)))
          .with_file(files_[number].path)
          .with_hint(fmt::format("Give {} more memory, or compress it again without --long.",
                                 format_bytes(used_bytes_ + window - pool_bytes_)));
    }
    take_of_pool(file, file.window_bytes = window);
  }
  return file.reader->next([&](std::size_t bytes) {
    const Lock lock(mutex_);
    const std::uint64_t wanted = bytes * kPieceCostPerByte;
    if (wanted <= held) return PieceReader::Room::kYes;
    const bool fits = has_room(number, wanted - held);
    if (fits) take_of_pool(file, wanted - std::exchange(held, wanted));
    file.waiting_bytes = fits ? 0 : wanted;
    if (fits) return PieceReader::Room::kYes;
    return is_next(number, file) ? PieceReader::Room::kNever : PieceReader::Room::kLater;
  });
}

bool PieceSchedule::read_one(Lock& lock) {
  for (std::size_t number = writing_file_; number < std::min(files_.size(), writing_file_ + kMostOpenFiles); ++number) {
    File& file = open_files_[number];
    if (file.is_being_read || file.is_read) continue;
    const std::uint64_t usual = kPieceBytes * kPieceCostPerByte;
    // The file that is written next may always go on, or nothing would; a long line of another waits for its turn.
    if (!is_next(number, file)) {
      if (number != writing_file_ && file.waiting_bytes > 0) continue;
      if (!has_room(number, std::max(usual, file.waiting_bytes))) {
        if (file.waiting_bytes > 0) continue;
        return false;
      }
    }
    auto piece = std::make_unique<Piece>();
    take_of_pool(file, piece->held_bytes = usual);
    file.is_being_read = true;
    file.waiting_bytes = 0;
    lock.unlock();
    auto read = read_piece(number, file, piece->held_bytes);
    lock.lock();
    file.is_being_read = false;
    if (read.ok() && !*read) {                                  // it goes on where it is, later
      if (file.waiting_bytes == 0) file.waiting_bytes = usual;  // for its codec
      give_back(file, piece->held_bytes);
      changed_.notify_all();
      return true;
    }
    file.is_read = !read.ok() || (*read)->is_last;
    if (read.ok()) {
      piece->text = std::move(**read);
    } else {  // it fails when its turn comes, so that what is before it is written in any case
      piece->encoded.error = std::move(read.error());
      piece->state = Piece::State::kEncoded;
    }
    if (file.is_read) {
      file.reader.reset();
      give_back(file, std::exchange(file.window_bytes, 0));
    }
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
