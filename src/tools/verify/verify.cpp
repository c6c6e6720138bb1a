// verify: every piece of every readable array is read and decoded; what is bad is listed, and the rest goes on.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/machine/cpu_count.h"
#include "base/text/number_text.h"
#include "dataset/files/paths.h"
#include "storage/file_system.h"
#include "tools/inspect/decode_pool.h"
#include "tools/inspect/inspected_file.h"
#include "tools/json.h"
#include "tools/text_table.h"
#include "tools/verify/token_verification.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kTick{100};    // between two calls of progress
constexpr std::uint64_t kLocatePieces = 1 << 16;   // at once, so that the list of pieces stays small
constexpr std::uint64_t kRunBytes = mebibytes(4);  // of arrays whose rows are addressable one by one
constexpr std::size_t kShown = 30;

using Progress = std::function<bool(std::uint64_t, std::uint64_t)>;

/// Tell if an array or a piece is bad. A sound one that cannot be read (variable-length text) is worth a note only.
bool is_bad_data(ErrorCode code) {
  return code != ErrorCode::kUnsupported && is_bad_file(code);
}

class Verifier {
 public:
  Verifier(std::vector<std::string> files, std::uint32_t threads, const Progress& progress)
      : files_(std::move(files)), threads_(threads), progress_(progress), pool_(threads) {
    for (const std::string& file : files_) {
      if (is_token_data(file)) {
        total_bytes_ += token_bytes(file);
      } else if (const auto status = FileSystem::of(file).status(file); status.ok()) {
        total_bytes_ += status->fingerprint.size_bytes;
      }
    }
  }

  ToolResult run() {
    const std::uint64_t start = now_ns();
    for (const std::string& file : files_) {
      verify_file(file);
      while (!pool_.idle(kTick)) tick();
    }
    seconds_ = static_cast<double>(now_ns() - start) * 1e-9;
    for (const BadPiece& piece : pool_.bad())
      findings_.push_back({piece.number, piece.rows, piece.error, true, is_bad_data(piece.error.code())});
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.number < b.number; });
    // Nothing could be opened, and not for what the files hold (may they be read?): there is nothing to report on.
    if (opened_ == 0 && !findings_.empty() &&
        std::ranges::none_of(findings_, [](const Finding& f) { return f.is_bad; }))
      throw findings_.front().error;
    return result();
  }

 private:
  struct Finding {
    std::uint64_t number;
    RowRange rows;
    Error error;
    bool is_piece, is_bad;
  };

  void tick() {
    ticked_ns_ = now_ns();
    if (!progress_) return;
    const std::uint64_t done = std::min(total_bytes_, counts().stored_bytes);
    if (!progress_(done, total_bytes_)) throw Error(ErrorCode::kCancelled, "stopped before everything was verified");
  }

  void tick_in_time() {
    if (now_ns() - ticked_ns_ >= static_cast<std::uint64_t>(std::chrono::nanoseconds(kTick).count())) tick();
  }

  void add(Error error, bool is_bad) { findings_.push_back({number_++, {}, std::move(error), false, is_bad}); }
  void add(Error error) {
    const bool is_bad = is_bad_data(error.code());
    add(std::move(error), is_bad);
  }

  /// Count what was read of tokens besides what the threads decode.
  [[nodiscard]] DecodePool::Counts counts() const {
    DecodePool::Counts counts = pool_.counts();
    counts.pieces += token_counts_.pieces;
    counts.stored_bytes += token_counts_.stored_bytes;
    counts.decoded_bytes += token_counts_.stored_bytes;
    return counts;
  }

  void verify_token_data(const std::string& path) {
    const TokenVerification found = verify_tokens(path, [&](std::uint64_t bytes) {
                                      token_counts_.stored_bytes += bytes;
                                      tick_in_time();
                                      return true;
                                    }).value();
    token_counts_.pieces += found.pieces;
    opened_ += found.is_open ? 1 : 0;
    arrays_ += found.files;
    if (found.is_open && !found.has_checksums) unchecked_.insert(token_files::kTokensName);
    for (const Error& error : found.bad) add(error, true);
    for (const Error& error : found.notes) add(error, false);
  }

  void verify_file(const std::string& path) {
    auto reader = open_file(path);
    if (is_token_data(path) && (!reader.ok() || path.ends_with(".idx"))) return verify_token_data(path);
    if (is_token_manifest(path)) {
      ++opened_;
      if (Status sound = check_token_part(path); !sound.ok()) add(std::move(sound.error()), true);
      return;
    }
    if (!reader.ok()) return add(reader.error().with_file(path), is_bad_file(reader.error().code()));
    ++opened_;
    for (const ArrayInfo& array : (*reader)->arrays()) {
      if (array.read_path == ReadPath::kUnsupported) {
        ++unreadable_;
        auto refused = (*reader)->open_array(array.path);  // its error knows whether it is damaged, and what would help
        Error error = refused.ok() ? Error(ErrorCode::kUnsupported, array.reason) : std::move(refused.error());
        add(std::move(error.with_file(path).with_field(array.path)));
        continue;
      }
      ++arrays_;
      if (array.read_path == ReadPath::kFallback)
        slow_.insert(fmt::format("read by {}, one chunk at a time: {}: {}", array.library, array.path, array.reason));
      if (array.filters.empty() && array.chunk_ends.empty() && array.rows() > 0) unchecked_.insert(array.path);
      Status status = verify_array(**reader, array);
      if (!status.ok()) add(std::move(status.error().with_file(path).with_field(array.path)));
    }
    if (path.ends_with(".npy"))
      if (Status sound = check_token_part(path); !sound.ok()) add(std::move(sound.error()), true);
    while (!pool_.idle(kTick)) tick();
    Status unchanged = (*reader)->file().check_unchanged();
    if (!unchanged.ok()) add(std::move(unchanged.error().with_file(path)));
  }

  Status verify_array(const FormatReader& reader, const ArrayInfo& listed) {
    HEADRACE_ASSIGN(std::shared_ptr<ArrayReader> array, reader.open_array(listed.path));
    const std::shared_ptr<ArrayReader> as_opened = array;  // of lists only that knows how many values they have
    const ArrayInfo& info = as_opened->info();
    if (info.page_rows > 0 && !info.has_checksums) unchecked_.insert(info.path);
    if (info.nullable) {  // rows without a value are no damage
      HEADRACE_ASSIGN(std::shared_ptr<ArrayReader> filled, array->filled());
      if (filled != nullptr) array = std::move(filled);
    }
    // Addressable rows come in runs; whole chunks come as they are, so the run is a multiple of the chunk's rows.
    const std::uint64_t row_bytes = std::max<std::uint64_t>(info.row_record_bytes(), 1);
    const std::uint64_t step =
        info.layout == Layout::kChunked
            ? std::max<std::uint64_t>(kLocatePieces / std::max(array->pieces_across(), 1u), 1) * info.chunk_rows()
            : std::max<std::uint64_t>(kRunBytes / row_bytes, 1);
    std::vector<Piece> pieces;
    std::uint64_t chunks = 0;
    for (std::uint64_t row = 0, count = step; row < info.rows(); count = pieces.empty() ? 2 * count : step) {
      count = std::min(count, info.rows() - row);  // so that doubling over what was never written cannot overflow
      pieces.clear();
      HEADRACE_ASSIGN(const std::uint64_t absent, array->locate_written({row, count}, pieces));
      if (absent > 0) absent_[info.path].absent += absent;
      chunks += absent + pieces.size();
      for (const Piece& piece : pieces) {
        const DecodeTask task{array, piece, number_++};
        while (!pool_.offer(task, kTick)) tick();
        tick_in_time();
      }
      row += count;
      tick();
    }
    if (const auto found = absent_.find(info.path); found != absent_.end()) found->second.all += chunks;
    return {};
  }

  ToolResult result() const {
    ToolResult result;
    std::set<std::string> bad_files;
    std::uint64_t bad_pieces = 0;
    for (const Finding& f : findings_) {
      result.findings = true;
      if (!f.is_bad) continue;
      result.bad_data = true;
      bad_files.insert(f.error.file());
      bad_pieces += f.is_piece ? 1 : 0;
    }
    result.findings = result.findings || !slow_.empty() || !absent_.empty();
    result.text = text(bad_files.size(), bad_pieces);
    result.json = json(bad_files.size(), bad_pieces);
    return result;
  }

  std::string text(std::size_t bad_files, std::uint64_t bad_pieces) const {
    const DecodePool::Counts counts = this->counts();
    std::string out;
    std::size_t shown = 0;
    for (const Finding& f : findings_) {
      if (shown++ == kShown) break;
      out += fmt::format("{} {}", f.is_bad ? "BAD    " : "NOTE   ", place(f.error));
      if (f.rows.count > 0) out += fmt::format(", rows {} to {}", f.rows.first, f.rows.end() - 1);
      out += "\n" + paragraph("", 8, (f.error.stage().empty() ? "" : f.error.stage() + ": ") + f.error.message());
      if (!f.error.hint().empty() && !f.error.hint().starts_with("Run: headrace verify"))
        out += paragraph("", 8, f.error.hint());
    }
    if (findings_.size() > kShown) out += fmt::format("and {} more (--json lists them)\n", findings_.size() - kShown);
    for (const std::string& array : slow_) out += paragraph("NOTE", 8, array);
    if (!out.empty()) out += '\n';
    out += fmt::format("{} file{}, {} array{}, {} piece{}: {} read, {} decoded in {:.1f} s by {} thread{}\n",
                       group_digits(files_.size()), plural(files_.size()), group_digits(arrays_), plural(arrays_),
                       group_digits(counts.pieces), plural(counts.pieces), format_bytes(counts.stored_bytes),
                       format_bytes(counts.decoded_bytes), seconds_, threads_, plural(threads_));
    if (!absent_.empty()) out += paragraph("NOTE", 8, absent_text());
    if (!unchecked_.empty())
      out += paragraph("", 0,
                       "Stored without a filter, so there is no checksum to compare; only that the bytes can be "
                       "read was checked: " +
                           joined(unchecked_));
    if (bad_files > 0 && bad_pieces == 0) {
      out += fmt::format("BAD: {} of {} files are damaged\n", group_digits(bad_files), group_digits(files_.size()));
    } else if (bad_files > 0) {
      out += fmt::format("BAD: {} of {} pieces do not decode; {} of {} files are damaged\n", group_digits(bad_pieces),
                         group_digits(counts.pieces), group_digits(bad_files), group_digits(files_.size()));
    } else if (unreadable_ > 0) {
      out += fmt::format("Good as far as it can be read: {} array{} cannot be\n", unreadable_, plural(unreadable_));
    } else if (findings_.empty()) {
      out += "Good: every piece decodes to its full length, and every stored checksum agrees\n";
    }
    return out;
  }

  std::string json(std::size_t bad_files, std::uint64_t bad_pieces) const {
    const DecodePool::Counts counts = this->counts();
    Json list = Json::array();
    for (const Finding& f : findings_) {
      Json item = error_json(f.error);
      item["bad_data"] = f.is_bad;
      if (f.rows.count > 0) item["rows"] = {{"first", f.rows.first}, {"count", f.rows.count}};
      list.push_back(std::move(item));
    }
    return dump({{"files", files_.size()},
                 {"bad_files", bad_files},
                 {"arrays", arrays_},
                 {"unreadable_arrays", unreadable_},
                 {"pieces", counts.pieces},
                 {"bad_pieces", bad_pieces},
                 {"absent_chunks", num_absent()},
                 {"absent", absent_json()},
                 {"stored_bytes", counts.stored_bytes},
                 {"decoded_bytes", counts.decoded_bytes},
                 {"seconds", seconds_},
                 {"threads", threads_},
                 {"without_checksum", unchecked_},
                 {"slow_path", slow_},
                 {"findings", std::move(list)}});
  }

  std::uint64_t num_absent() const {
    std::uint64_t sum = 0;
    for (const auto& [array, chunks] : absent_) sum += chunks.absent;
    return sum;
  }
  std::string absent_text() const {
    std::string arrays;
    for (const auto& [array, chunks] : absent_)
      arrays += fmt::format("{}{} of {} of {}", arrays.empty() ? "" : ", ", group_digits(chunks.absent),
                            group_digits(chunks.all), array);
    return fmt::format("{} chunk{} not there, never written or lost, and hold{} the fill value: {}",
                       group_digits(num_absent()), num_absent() == 1 ? " is" : "s are", num_absent() == 1 ? "s" : "",
                       arrays);
  }
  Json absent_json() const {
    Json json = Json::object();
    for (const auto& [array, chunks] : absent_) json[array] = {{"absent", chunks.absent}, {"chunks", chunks.all}};
    return json;
  }

  static std::string place(const Error& e) {
    std::string out = e.file();
    if (!e.field().empty()) out += " › " + e.field();
    if (!e.chunk().empty()) out += " › chunk " + e.chunk();
    if (e.bytes().size != 0) out += fmt::format(" › bytes {}+{}", e.bytes().offset, e.bytes().size);
    return out;
  }
  static std::string joined(const std::set<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
  }

  std::vector<std::string> files_;
  std::uint32_t threads_;
  const Progress& progress_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t number_ = 0;  // of tasks and findings, in the order of files, arrays and rows
  std::uint64_t opened_ = 0, arrays_ = 0, unreadable_ = 0;
  DecodePool::Counts token_counts_ = {};
  std::uint64_t ticked_ns_ = 0;  // when progress was called last
  double seconds_ = 0;
  struct Absent {
    std::uint64_t absent = 0, all = 0;  // of all files
  };
  std::map<std::string, Absent> absent_;  // arrays of which chunks are not there: never written, or lost
  std::set<std::string> slow_, unchecked_;
  std::vector<Finding> findings_;
  DecodePool pool_;  // last: its threads stop before the rest goes
};

}  // namespace

ToolResult verify(const std::vector<std::string>& paths, std::uint32_t threads, const Progress& progress) {
  const auto decoders = threads != 0 ? threads : static_cast<std::uint32_t>(usable_cpu_count());
  return Verifier(expand_paths(paths).value(), decoders, progress).run();
}

}  // namespace headrace
