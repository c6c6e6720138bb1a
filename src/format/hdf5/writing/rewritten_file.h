// A new HDF5 file with the objects of another, in which some arrays are stored in other chunks and with other filters.
// Chunks come encoded, in any order of arrays; the file can be written on after its writer was killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/array_info.h"
#include "codec/chunk_encoder.h"
#include "format/page_journal.h"

namespace headrace::hdf5 {

/// Text inside an element that is stored padded with spaces: `count` texts, touching, each `width` bytes.
struct SpacePadded {
  std::uint64_t offset = 0, count = 1;
  std::uint32_t width = 1;
};

/// How the elements of an array of a file are stored, seen from what ArrayReader::decode() makes of them.
struct StoredForm {
  bool as_decoded = false;          ///< The same bytes, but for the byte order and the padding of text.
  std::uint32_t swap_width = 1;     ///< Big-endian numbers of so many bytes; 1: as decoded.
  std::vector<SpacePadded> spaces;  ///< What to pad with spaces again.
  std::string reason;               ///< Why not as decoded.
  bool resizable = false;           ///< Its shape may grow: it needs chunks.
};

/// Put decoded elements into their stored form, in place. \param element_bytes  Bytes of an element, decoded.
void to_stored(const StoredForm& form, std::uint64_t element_bytes, std::span<std::byte> elements);

/// Return the form of each array of a file, in the order of `paths`. Errors: of opening.
Result<std::vector<StoredForm>> stored_forms(const std::string& file, const std::vector<std::string>& paths);

/// An array that is stored in another way.
struct NewArray {
  ArrayInfo info;                          ///< As in the source.
  std::vector<std::uint64_t> chunk_shape;  ///< Has the rank of info.shape; empty: contiguous, without filters.
  ChunkCoding coding;
  std::size_t element_bytes = 1;  ///< Width of the byte shuffle.
};

/// Threads: one at a time. Memory: libhdf5's own, and the metadata of what was written since the last save().
class RewrittenFile {
 public:
  /// Make `path` with all objects of `source` and their attributes, and empty arrays. \param source  An HDF5 file, or
  /// empty: then there is nothing but the arrays, of the types in their `info` (a .npy file has no objects).
  /// Errors: kWriteFailed, kPermission, kUnsupported, kCorruptData, located.
  static Result<std::unique_ptr<RewrittenFile>> create(const std::string& source, const std::string& path,
                                                       std::vector<NewArray> arrays);
  /// Open `path` to write on from the journal's state. Errors: as create(); kNotFound.
  static Result<std::unique_ptr<RewrittenFile>> reopen(const std::string& path, const PageJournal& journal,
                                                       std::vector<NewArray> arrays);
  /// Put the journal's pages into `path`, whose writer may have been killed in close(). Errors: kWriteFailed,
  /// kPermission, kNotFound. Blocks: until they are on the disk.
  static Status restore(const std::string& path, const PageJournal& journal);
  ~RewrittenFile();
  RewrittenFile(const RewrittenFile&) = delete;
  RewrittenFile& operator=(const RewrittenFile&) = delete;

  /// Write the chunk that begins at `first_row` of an array. Errors: kWriteFailed.
  Status write_chunk(std::size_t array, std::uint64_t first_row, const EncodedChunk& chunk);
  /// Write rows of a contiguous array, in their stored form. Errors: kWriteFailed.
  Status write_rows(std::size_t array, std::uint64_t first_row, std::uint64_t rows, std::span<const std::byte> bytes);

  /// Make what was written last: after a kill, reopen() with this journal finds it. \param state  Kept in the journal.
  Status save(const std::string& journal, const std::string& state);
  /// Close the file, and save() that.
  Status close(const std::string& journal, const std::string& state);

  /// Return the datasets that libhdf5 copied, and what the user should know. Empty after reopen().
  [[nodiscard]] const std::vector<std::string>& copied() const;
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  struct State;
  explicit RewrittenFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Compare what libhdf5 copied: the values of the datasets `copied`, and the attributes of those and of `remade`, with
/// those of `source`. Errors: kCorruptData  the first that differs.
Status compare_copied(const std::string& source, const std::string& path, const std::vector<std::string>& copied,
                      const std::vector<std::string>& remade);

}  // namespace headrace::hdf5
