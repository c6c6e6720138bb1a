// How far an unfinished output is, for the next process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "corpus/piece_schedule.h"

namespace headrace::corpora {

struct RunProgress {
  CorpusPlace place = {};
  std::uint64_t tokens = 0, documents = 0, text_bytes = 0, in_document = 0;
  std::uint64_t skipped = 0;
  std::string first_skipped = {};
  std::string output = {};  ///< A checkpoint of TokenOutput's.
};

/// Return what a progress file holds. \param settings  A JSON document.
std::string progress_text(const std::string& settings, const RunProgress& progress);
/// Read that text. Errors: kInvalidArgument  it is of other settings; kCorruptData.
Result<RunProgress> parse_progress(const std::string& text, const std::string& settings);

/// Threads: one at a time. While it lives, no other process has the same one.
class ProgressFile {
 public:
  /// Errors: kInvalidArgument  another process works on it; kWriteFailed.
  static Result<ProgressFile> lock(const std::string& output_path);
  ~ProgressFile();
  ProgressFile(ProgressFile&& other) noexcept;
  ProgressFile& operator=(ProgressFile&&) = delete;

  /// Return what was saved last, if it is of these settings. Errors: kInvalidArgument  it is of others; kCorruptData.
  [[nodiscard]] Result<std::optional<RunProgress>> load(const std::string& settings) const;
  /// Replace what was saved, at once.
  [[nodiscard]] Status save(const std::string& settings, const RunProgress& progress) const;
  /// Note, as OUTPUT.done, of which settings a finished output is. \param made  Its files.
  [[nodiscard]] Status finish(const std::string& settings, const RunProgress& progress,
                              const std::vector<std::string>& made) const;
  /// Return what finish() noted, if it is of these settings and the files that were made are there as they were then,
  /// beside others.
  [[nodiscard]] std::optional<RunProgress> finished(const std::string& settings,
                                                    const std::vector<std::string>& made) const;
  /// Return true if finish() noted anything here.
  [[nodiscard]] bool has_finished() const;
  /// Forget what was saved.
  void forget() const;
  /// Remove it and its lock: the output is whole.
  void remove() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ProgressFile(std::string output, int lock) : output_(std::move(output)), path_(output_ + ".progress"), lock_(lock) {}
  [[nodiscard]] std::string done_path() const { return output_ + ".done"; }
  std::string output_, path_;
  int lock_;
};

}  // namespace headrace::corpora
