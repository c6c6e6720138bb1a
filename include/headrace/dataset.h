// Dataset: rows in files, as samples. Opening reads metadata only; rows are read when you ask for them.
#pragma once

#include <headrace/attribute.h>
#include <headrace/batch.h>
#include <headrace/field.h>
#include <headrace/left_out.h>
#include <headrace/transform.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// Name of a field in a batch, and path of its array in the files. If the path is empty, the name is the path.
///
/// A "*" in a path stands for any name in its place: "data/demo_*/actions". The file then has arrays for each sample: a
/// sample is the rows of one of them, and samples come in the natural order of those names.
///
/// "FILES::PATH" is the array PATH of other files. FILES is a path or glob, as for open(). It gives one file for each
/// file of the data set, in order and with as many rows. PATH may be empty if they have only one array. The first "::"
/// divides; but if the data set's own files have an array whose name is the whole text, that array is taken.
struct FieldChoice {
  std::string name;  ///< Key in a batch.
  std::string path;  ///< Path of the array in the files.
};

/// A field with one value for many samples: a label of each recording, which all its segments have.
struct BroadcastChoice {
  std::string name;  ///< Key in a batch.
  std::string path;  ///< Path of the array in the files, as FieldChoice::path.
  /// How many of the array's axes are the first axes of the samples; the others are the shape of a value. 0: as many as
  /// have the same extents.
  std::uint32_t axes = 0;
};

/// What makes a sample where it is not a row: a run of consecutive rows. One of `key`, `offsets`, `offset_list` and
/// `meta` is given. Samples then differ in length: the fields are ragged.
struct SampleBy {
  /// Path of an array with a value for each row: equal values that stand together are a sample, which ends with its
  /// file. Whole numbers, also stored as floats, or text of fixed length.
  std::string key = {};
  std::optional<std::uint64_t> column = {};  ///< Which value of a row of `key` it is, where a row has several.
  /// Path of an array of whole numbers: the row of its file where each sample begins, and at last the end of the last
  /// one. Rows before the first are left out.
  std::string offsets = {};
  std::vector<std::uint64_t> offset_list = {};  ///< The same as a list, of rows counted through all files.
  /// Path or glob of a table with a row for each sample. OpenOptions::targets are looked for in it first.
  std::string meta = {};
  std::string first = {};  ///< Its field that has the first row of a sample, counted in the sample's file.
  std::string last = {};   ///< Its field that has the last row; first - 1 for a sample without rows.
  std::string end = {};    ///< Instead of `last`: the row behind the last.
  std::string file =
      {};  ///< Its field that has the number of the sample's file; empty: there is one file, or as many tables.
  std::string file_template = {};  ///< Name of a file, with {…} for that number: "batch_{batch_id}.parquet".
};

/// What is done where a row of a nullable column has no value.
enum class Nulls : std::uint8_t {
  kError,  ///< Reading it fails, by the row's number.
  kFill,   ///< NaN for floats, 0 for all else.
  kMask,   ///< As kFill, and a field "NAME.valid" of bool beside each nullable field.
};

/// What to open, beside the files.
struct OpenOptions {
  /// Fields in batch order. If empty: every array with the common number of rows in the root, or in the only group;
  /// Dataset::left_out() names the others. Refused where an array is more than half as long as those.
  /// A compound array gives one field for each member, named "name.member"; "path.member" chooses one.
  std::vector<FieldChoice> fields;
  /// Paths and globs to open for FILES of a "FILES::PATH", if other than FILES itself: to open the same data set where
  /// the files have moved. Entries that no field uses are ignored.
  std::map<std::string, std::vector<std::string>> companion_files = {};
  /// What makes a sample where it is not a row.
  std::optional<SampleBy> sample_by = {};
  /// Fields with a row for each sample of `sample_by`, from other arrays of the same files or of others (FILES::PATH).
  /// They follow `fields` in a batch.
  std::vector<FieldChoice> targets = {};
  /// Called after a file was opened, in the calling thread, with how many are open and how many there are;
  /// false stops with kCancelled. May be empty.
  std::function<bool(std::uint64_t files_open, std::uint64_t files)> progress = {};
  /// How many leading axes of the arrays count samples: with 3, an array of shape (recordings, long, short, mels,
  /// frames) has recordings * long * short samples of shape (mels, frames), in the order of a reshape. All fields of a
  /// file must agree in these extents; files may differ. Above 1, fields must be chosen.
  std::uint32_t sample_axes = 1;
  /// Fields whose values many samples share. They follow `fields` in a batch.
  std::vector<BroadcastChoice> broadcast = {};
  /// What is done where a row of a nullable column has no value (Parquet).
  Nulls nulls = Nulls::kError;
  /// A '*' in the path of a field stands for the names of arrays, one for each sample; false: it is a character of it.
  bool patterns = true;
};

/// How a field is stored, for people and for `inspect`. It describes the first file; see `uniform`.
struct FieldStorage {
  std::vector<std::uint64_t> chunk_shape;  ///< Empty if the array is contiguous.
  std::string codec;                       ///< For example "gzip-4 + shuffle" or "none".
  std::string read_path;                   ///< "native"; "converted" (native, then by libhdf5); "libhdf5".
  std::string reason;                      ///< Why it is not native; empty otherwise.
  bool uniform = true;                     ///< True if all files store the field like this.
};

/// One file of a data set.
struct FileEntry {
  std::string path;        ///< Path of the file.
  std::uint64_t rows = 0;  ///< Rows, or samples made of it, that belong to the data set; 0 where samples are drawn.
};

struct DataNode;
/// How a data set is made: files, and verbs one upon the other. A value, which copies share and nothing changes.
using DataTree = std::shared_ptr<const DataNode>;

/// An opened data set. A light handle: copies share the open files.
/// Threads: const members from any thread. Errors: every member throws headrace::Error.
class Dataset {
 public:
  struct Impl;
  explicit Dataset(std::shared_ptr<Impl> impl);  ///< For the library: open() makes data sets.

  /// Return the number of samples.
  [[nodiscard]] std::uint64_t size() const;
  /// Return the fields, in the order of a batch.
  [[nodiscard]] const std::vector<Field>& fields() const;
  /// Return how each field is stored.
  [[nodiscard]] const std::vector<FieldStorage>& storage() const;
  /// Return the files, in order.
  [[nodiscard]] const std::vector<FileEntry>& files() const;
  /// Return the arrays of the first file that open() left out where no fields were chosen, and why. Empty where they
  /// were chosen, and for what open_recipe() opens, which names its fields.
  [[nodiscard]] const std::vector<LeftOut>& left_out() const;
  /// Return, for each FILES of a "FILES::PATH", the files it was opened as, one for each of files(). Pass the result
  /// as OpenOptions::companion_files to open the same ones again.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> companion_files() const;
  /// Return the attributes of a field's array. What files disagree in is in `left_out`, with the values of two.
  [[nodiscard]] const Attributes& attributes(std::size_t field) const;
  /// Return the attributes of the files as a whole (in HDF5, of the root group). What they disagree in is in
  /// `left_out`; mixtures have none.
  [[nodiscard]] const Attributes& file_attributes() const;
  /// Return what should be known of the files, a sentence each: bytes that are not read, files that differ in what
  /// their values mean.
  [[nodiscard]] const std::vector<std::string>& notices() const;
  /// Return the bytes of a sample, over all fields.
  [[nodiscard]] std::uint64_t sample_bytes() const;
  /// Return the number of rows in a block (rows that decode together) in the first file, for messages.
  [[nodiscard]] std::uint64_t block_rows() const;

  /// Return the rows [first, first + count). Throws kInvalidArgument if out of range. Blocks: reads and decodes.
  /// `go_on` may be empty. If reading takes long, it is called by this thread about twenty times a second; when it
  /// returns false, reading ends and kCancelled is thrown.
  [[nodiscard]] Batch slice(std::uint64_t first, std::uint64_t count, const std::function<bool()>& go_on = {}) const;
  /// Return any rows in any order, repeats allowed. Each block is decoded once. Errors, `go_on`: as slice().
  [[nodiscard]] Batch take(std::span<const std::uint64_t> rows, const std::function<bool()>& go_on = {}) const;
  /// Return a data set of these rows only, in the order of the files, numbered from 0. It takes a quarter of a byte for
  /// each row of the files. No I/O. Throws kInvalidArgument.
  /// \param rows  Row numbers, ascending, each once.
  [[nodiscard]] Dataset select(std::span<const std::uint64_t> rows) const;
  /// Return the number of each row of this data set among all rows of all files. Differs from 0, 1, 2, … after
  /// select().
  [[nodiscard]] std::vector<std::uint64_t> selected_rows() const;
  /// Return, for each file, the extents of the axes that samples are cells of, selected or not:
  /// OpenOptions::sample_axes numbers whose product is the number of its rows.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> sample_shapes() const;
  /// Return where samples lie along these axes: sample_axes numbers for each of `rows`, one after the other. The first
  /// counts through all files (recordings of the first file, then of the second, …), so it tells recordings apart; the
  /// others count within it. Rows that a selection left out count as well. Throws kInvalidArgument for rows that do not
  /// exist, or if the parts of a mixture have different numbers of axes.
  [[nodiscard]] std::vector<std::int64_t> sample_index(std::span<const std::uint64_t> rows) const;
  /// Return how many rows each sample has in the fields that are ragged. No I/O. Throws kInvalidArgument where none is.
  [[nodiscard]] std::vector<std::uint64_t> lengths() const;
  /// Return the end of the block of `row`: rows [row, block_end(row)) are decoded together.
  [[nodiscard]] std::uint64_t block_end(std::uint64_t row) const;
  /// Return a data set of these fields only, over the same files. No I/O.
  [[nodiscard]] Dataset choose(std::span<const std::string> names) const;

  /// Return a data set whose samples go through these transforms, one after the other, on their way into a batch. They
  /// run on the decode threads, where possible while rows are copied; files, order and caches stay as they are, and
  /// columns that no field needs any more are not read. No I/O. Throws kInvalidArgument, kFieldMissing.
  [[nodiscard]] Dataset map(const std::vector<Transform>& transforms) const;

  /// Return how the data set was made, for open_recipe(): absolute paths, fields, selections, proportions. No I/O.
  /// Throws kUnsupported for data that lies in memory.
  [[nodiscard]] std::string recipe() const;
  /// Return the same as a value; null: it was made in memory.
  [[nodiscard]] DataTree tree() const;

  /// Return a table for people: files, rows, fields, types, chunks, codecs, read path.
  [[nodiscard]] std::string describe() const;
  /// Close the files. Idempotent. Later reads throw kClosed; loaders made from this data set can still be used.
  void close();
  /// Return true if it was closed.
  [[nodiscard]] bool closed() const;

 private:
  friend struct DatasetInternals;
  std::shared_ptr<Impl> impl_;
};

/// Open a path or glob ("~", "*", "?", "[a-z]", "**"; ordered naturally: f2 before f10).
Dataset open(const std::string& path_or_glob, OpenOptions options = {});
/// Open an explicit list of paths and globs; the list keeps its order.
Dataset open(const std::vector<std::string>& paths, OpenOptions options = {});
/// Open again the data set that Dataset::recipe() described. Throws what open(), select() and mix() throw, and
/// kInvalidArgument for bytes that are not a recipe.
Dataset open_recipe(const std::string& recipe);
/// Return how open() makes a data set of files. Opens nothing.
DataTree tree_of(std::vector<std::string> paths, OpenOptions options = {});
/// Make the data set that a tree describes. \param progress  As OpenOptions::progress, for each verb that opens files;
/// may be empty. Errors: those of the verbs.
Dataset open(const DataTree& tree, const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});

}  // namespace headrace
