// The .idx file beside a Megatron .bin file: which sequences lie there, and which of them make a document.
//
// Little-endian (megatron/core/datasets/indexed_dataset.py): nine bytes of magic, u64 version 1, u8 code of the type,
// u64 sequences, u64 marks; then i32 lengths in tokens and i64 pointers in bytes, one a sequence, i64 marks, and for
// data of several modes an i8 a sequence. Mark i is the first sequence of document i; the last mark is their number.
#pragma once

#include <headrace/dtype.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "format/tokens/document_index.h"

namespace headrace::token_files {

struct MegatronIndex {
  std::shared_ptr<RandomAccessFile> file;
  std::string path;  ///< For messages.
  DType dtype;
  std::uint64_t sequences = 0, marks = 0;  ///< Both lie in the file.
  bool has_modes = false;

  static constexpr std::uint64_t kHeaderBytes = 34;
  [[nodiscard]] std::uint64_t lengths_at() const { return kHeaderBytes; }
  [[nodiscard]] std::uint64_t pointers_at() const { return kHeaderBytes + 4 * sequences; }
  [[nodiscard]] std::uint64_t marks_at() const { return kHeaderBytes + 12 * sequences; }
};

/// Return true if bytes begin as an .idx file does.
bool is_megatron_index(std::span<const std::byte> head);

/// Return the code of a type in an .idx file; 0: it has none (uint32 and uint64).
std::uint8_t megatron_code(const DType& dtype);
/// Return the start of an .idx file, up to its lengths.
std::string megatron_header(const DType& dtype, std::uint64_t sequences, std::uint64_t marks);

/// Read the header and compare what it says with the size of the file.
/// Errors: kCorruptData  no header, a file of another size; kUnsupported  another version, or tokens that are no whole
/// numbers; those of reading.
Result<MegatronIndex> open_megatron_index(std::shared_ptr<RandomAccessFile> file, const std::string& path);

/// Return the documents of an index. Looks at the first and last number of each list only.
/// \param bin_bytes  Size of the .bin file, whose name is `bin_path`. Errors: kCorruptData  it is not that of the
/// index; those of reading.
Result<std::shared_ptr<const DocumentIndex>> open_megatron_documents(const MegatronIndex& index,
                                                                     std::uint64_t bin_bytes,
                                                                     const std::string& bin_path);

}  // namespace headrace::token_files
