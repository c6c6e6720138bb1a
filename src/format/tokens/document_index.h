// DocumentIndex: what says where the documents of a token file begin and end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace::token_files {

/// Takes the tokens [first, end) of a document.
using AddDocument = std::function<void(std::uint64_t first, std::uint64_t end)>;

/// Immutable. Threads: any.
class DocumentIndex {
 public:
  virtual ~DocumentIndex() = default;
  /// Return the number of documents, which needs no reading.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Read the whole index, and hand over each document in order. Errors: kCorruptData, with the bytes of the index that
  /// contradict the others or the tokens; those of reading.
  [[nodiscard]] virtual Status read(const AddDocument& add) const = 0;
};

/// Where a list of ends lies: 64-bit numbers, one a document, counted in tokens.
struct EndsPlace {
  std::shared_ptr<RandomAccessFile> file;
  std::string path;          ///< For messages.
  std::uint64_t offset = 0;  ///< Byte of the first number.
  std::uint64_t count = 0;   ///< The caller has checked that they lie in the file.
};

/// Return the index of documents that follow each other without gaps. Looks at the last end only.
/// Errors: kCorruptData  the last document does not end with the tokens; those of reading.
Result<std::shared_ptr<const DocumentIndex>> open_document_ends(EndsPlace ends, std::uint64_t tokens);

}  // namespace headrace::token_files
