// The one error type of Headrace: a value inside (`Result<T>`), an exception at the C++ edge, one mapping to Python.
//
// An Error names the place: file › field › chunk › bytes offset+size, what was expected and found, and what to do next.
// Inner layers fill in what they know. Outer layers add what they know with the with_*() setters, which never
// overwrite, because the innermost context is the most precise. Copies are cheap (shared, copied on write).
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace headrace {

/// Kind of error: one value for each case that a caller would treat differently.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< The caller asked for something contradictory or out of range.
  kNotFound,         ///< A file, or every file of a glob, is absent.
  kPermission,       ///< A file may not be read by this user.
  kFieldMissing,     ///< A file has no array of that name.
  kCorruptData,      ///< Bytes are damaged, truncated or inconsistent with their description.
  kUnsupported,      ///< The bytes may be fine, but this build cannot read them.
  kReadFailed,       ///< The operating system failed to read (EIO and the like).
  kWriteFailed,      ///< The operating system failed to write (disk full, EIO).
  kFileChanged,      ///< A file changed on disk while it was in use.
  kOutOfBudget,      ///< The memory budget cannot hold what was asked for.
  kClosed,           ///< The object was closed, or superseded by a newer iterator.
  kForked,           ///< The object was made in the parent process of a fork.
  kCancelled,        ///< Work was abandoned because its owner stopped.
  kTimeout,          ///< No batch came within the caller's `timeout`.
  kInternal,         ///< A bug in Headrace.
};

/// Return the name of a code, for example "corrupt_data".
std::string_view to_string(ErrorCode code);

/// Bytes [offset, offset + size) of a file.
struct ByteRange {
  std::uint64_t offset = 0;  ///< First byte, counted from the start of the file.
  std::uint64_t size = 0;    ///< Number of bytes.
  /// Return the byte behind the last.
  [[nodiscard]] std::uint64_t end() const { return offset + size; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// What every function of the library throws: an error that names the place, what was expected and found, and what to
/// do. what() is the whole text; the parts are empty where they are not known.
class Error : public std::exception {
 public:
  /// Make an error whose `message` says what was expected and what was found, without the place.
  Error(ErrorCode code, std::string message);

  // Each sets its part of the place, unless an inner layer has already set it. That of a temporary gives a temporary,
  // which `return` and `throw` move from.

  /// Set the path of the file.
  Error& with_file(std::string_view file) &;
  /// Set the path of the file.
  Error&& with_file(std::string_view file) && { return std::move(with_file(file)); }
  /// Set the name of the field, or of the array in the file.
  Error& with_field(std::string_view field) &;
  /// Set the name of the field, or of the array in the file.
  Error&& with_field(std::string_view field) && { return std::move(with_field(field)); }
  /// Set the chunk coordinates as text, for example "(12,0,0)".
  Error& with_chunk(std::string_view chunk) &;
  /// Set the chunk coordinates as text.
  Error&& with_chunk(std::string_view chunk) && { return std::move(with_chunk(chunk)); }
  /// Set the bytes that are to blame.
  Error& with_bytes(ByteRange range) &;
  /// Set the bytes that are to blame.
  Error&& with_bytes(ByteRange range) && { return std::move(with_bytes(range)); }
  /// Set the step that failed: "open", "index", "read", a filter's name, "scatter".
  Error& with_stage(std::string_view stage) &;
  /// Set the step that failed.
  Error&& with_stage(std::string_view stage) && { return std::move(with_stage(stage)); }
  /// Set what the user can do, unless a hint is there: a whole sentence, often a command.
  Error& with_hint(std::string_view hint) &;
  /// Set what the user can do.
  Error&& with_hint(std::string_view hint) && { return std::move(with_hint(hint)); }
  /// Set the smallest memory budget with which it would not have failed.
  Error& with_needed_bytes(std::uint64_t bytes) &;
  /// Set the smallest memory budget with which it would not have failed.
  Error&& with_needed_bytes(std::uint64_t bytes) && { return std::move(with_needed_bytes(bytes)); }

  /// Return the kind of error.
  [[nodiscard]] ErrorCode code() const noexcept;
  /// Return what was expected and what was found, without the place.
  [[nodiscard]] const std::string& message() const noexcept;
  /// Return the path of the file.
  [[nodiscard]] const std::string& file() const noexcept;
  /// Return the name of the field, or of the array in the file.
  [[nodiscard]] const std::string& field() const noexcept;
  /// Return the chunk's coordinates as text, for example "(12,0,0)".
  [[nodiscard]] const std::string& chunk() const noexcept;
  /// Return the bytes that caused the error, {0, 0} if it was not caused by bytes.
  [[nodiscard]] ByteRange bytes() const noexcept;
  /// Return the step that failed, for example "open", "read" or a filter's name.
  [[nodiscard]] const std::string& stage() const noexcept;
  /// Return what to do about it.
  [[nodiscard]] const std::string& hint() const noexcept;
  /// Return the smallest memory budget with which it would not have failed, in bytes; 0: that is not known, or not why.
  [[nodiscard]] std::uint64_t needed_bytes() const noexcept;

  /// Return the whole text: `file › field › chunk (12,0,0) › bytes 4718592+81733: stage: message. hint`.
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct Details;
  Details& edit();
  std::shared_ptr<Details> details_;
};

}  // namespace headrace
