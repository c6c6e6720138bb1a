// Dataset: what a sample is. Opening reads metadata only; rows are read when asked for.
#pragma once

#include <headrace/catalog/field.h>
#include <headrace/delivery/batch.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// A field by the name it gets in a batch and its path in the files. An empty path means the path is the name.
///
/// "FILES::PATH" is the array PATH of other files: FILES is a path or glob, as open() takes them, that stands for one
/// file for each file of the data set, in order and with as many rows. PATH may be empty where they have one array. The
/// first "::" divides; an array of the data set's own files that has the whole text for a name comes first.
struct FieldChoice {
  std::string name;
  std::string path;
};

struct OpenOptions {
  /// Fields in batch order. Empty: every array with the common number of rows in the root, or in the only group;
  /// Dataset::left_out() names the others.
  /// A record (compound) array gives one field for each member, named "name.member"; "path.member" chooses one.
  std::vector<FieldChoice> fields;
  /// Paths and globs that FILES of a "FILES::PATH" stands for, where that is not the text itself: whoever knows the
  /// files of another place or time. Texts that no field uses are passed over.
  std::map<std::string, std::vector<std::string>> beside = {};
  /// Called after a file was opened, in the thread that opens them, with how many are open and how many there are;
  /// false stops with kCancelled. May be empty.
  std::function<bool(std::uint64_t files_open, std::uint64_t files)> progress = {};
};

/// An array of the files that is no field, since no fields were chosen and it cannot be one.
struct LeftOut {
  std::string path;
  std::string reason;  ///< "a scalar, which has no rows".
};

/// How a field is stored, for people and for `inspect`. Taken from the first file; `uniform` says if all files agree.
struct FieldStorage {
  std::vector<std::uint64_t> chunk_shape;  ///< Empty: contiguous.
  std::string codec;                       ///< "gzip-4 + shuffle", "none".
  std::string read_path;                   ///< "native", or the library that reads it ("libhdf5").
  std::string reason;                      ///< Why not native; empty otherwise.
  bool uniform = true;
};

struct FileEntry {
  std::string path;
  std::uint64_t rows = 0;  ///< That belong to the data set.
};

/// An opened data set. A light handle: copies share the open files.
/// Threads: const members from any thread. Errors: every member throws headrace::Error.
class Dataset {
 public:
  struct Impl;
  explicit Dataset(std::shared_ptr<Impl> impl);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] const std::vector<Field>& fields() const;
  [[nodiscard]] const std::vector<FieldStorage>& storage() const;  ///< One for each field.
  [[nodiscard]] const std::vector<FileEntry>& files() const;
  /// Return the arrays of the first file that open() left out where no fields were chosen, and why. Empty where they
  /// were chosen, and for what open_recipe() opens, which names its fields.
  [[nodiscard]] const std::vector<LeftOut>& left_out() const;
  /// Return the files that FILES of each field's "FILES::PATH" stood for, one for each of files(): what
  /// OpenOptions::beside takes to open the same ones again.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> beside() const;
  /// Attributes of a field's array in the first file, as text.
  [[nodiscard]] const std::map<std::string, std::string>& attributes(std::size_t field) const;
  /// Bytes a sample, over all fields.
  [[nodiscard]] std::uint64_t sample_bytes() const;
  /// Rows of each block of the default order in the first file, for messages.
  [[nodiscard]] std::uint64_t block_rows() const;

  /// Rows [first, first + count). Throws kInvalidArgument if out of range. Blocks: reads and decodes.
  /// `go_on` may be empty. While much is read it is called about twenty times a second by this thread; when it returns
  /// false, reading ends and kCancelled is thrown.
  [[nodiscard]] Batch slice(std::uint64_t first, std::uint64_t count, const std::function<bool()>& go_on = {}) const;
  /// Any rows in any order, repeats allowed; each block is decoded once.
  [[nodiscard]] Batch take(std::span<const std::uint64_t> rows, const std::function<bool()>& go_on = {}) const;
  /// Only these rows of it, in the order of the files, numbered anew. \param rows  Ascending, each once. Takes a
  /// quarter of a byte for each row of the files; no I/O. Throws kInvalidArgument.
  [[nodiscard]] Dataset select(std::span<const std::uint64_t> rows) const;
  /// Number, over all rows of all files, of each row of this data set: what select() has left.
  [[nodiscard]] std::vector<std::uint64_t> selected_rows() const;
  /// Rows [row, block_end(row)) are decoded together.
  [[nodiscard]] std::uint64_t block_end(std::uint64_t row) const;
  /// Only these fields, same files (no I/O).
  [[nodiscard]] Dataset choose(std::span<const std::string> names) const;

  /// Return how the data set was made, for open_recipe(): absolute paths, fields, selections, proportions. No I/O.
  /// Throws kUnsupported for data that lies in memory.
  [[nodiscard]] std::string recipe() const;

  /// A table for people: files, rows, fields, types, chunks, codecs, read path.
  [[nodiscard]] std::string describe() const;
  /// Close the files. Idempotent; later reads throw kClosed. Loaders made from it go on.
  void close();
  [[nodiscard]] bool closed() const;
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// Open a path or glob ("~", "*", "?", "[a-z]", "**"; ordered naturally: f2 before f10).
Dataset open(const std::string& path_or_glob, OpenOptions options = {});
/// Open an explicit list of paths and globs; the list keeps its order.
Dataset open(const std::vector<std::string>& paths, OpenOptions options = {});
/// Open again what Dataset::recipe() told of. Throws what open(), select() and mix() throw, and kInvalidArgument for
/// bytes that are no recipe.
Dataset open_recipe(const std::string& recipe);

}  // namespace headrace
