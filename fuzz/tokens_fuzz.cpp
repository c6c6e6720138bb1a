// Reads arbitrary bytes as the index of a Megatron file and all of its documents, or as a manifest of tokens. The
// input: u8 kind (0: an index, 1: a manifest, 2: ends of documents), u64 bytes of the tokens, then the file.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "format/tokens/megatron_index.h"
#include "format/tokens/token_manifest.h"
#include "storage/testing/memory_file.h"

namespace headrace::token_files {
namespace {

/// Documents follow each other, and end with the tokens.
void read_all(const Result<std::shared_ptr<const DocumentIndex>>& index, std::uint64_t tokens) {
  if (!index.ok()) return;
  std::uint64_t at = 0, documents = 0;
  const Status read = (*index)->read([&](std::uint64_t first, std::uint64_t end) {
    if (first != at || end < first || end > tokens) std::abort();
    at = end;
    ++documents;
  });
  if (read.ok() && (at != tokens || documents != (*index)->size())) std::abort();
}

void read_input(const std::uint8_t* data, std::size_t size) {
  if (size < 9) return;
  std::uint64_t token_bytes = 0;
  std::memcpy(&token_bytes, data + 1, 8);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data) + 9, size - 9);
  if (data[0] % 3 == 1) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto manifest = parse_token_manifest(text);
    if (manifest.ok() && !parse_token_manifest(manifest_text(*manifest)).ok()) std::abort();
    return;
  }
  const auto file = std::make_shared<MemoryFile>("a.idx", std::vector<std::byte>(bytes.begin(), bytes.end()));
  if (data[0] % 3 == 2) {
    read_all(open_document_ends({file, "a.ds.index", 0, file->size() / 8}, token_bytes), token_bytes);
    return;
  }
  const auto index = open_megatron_index(file, "a.idx");
  if (!index.ok()) return;
  read_all(open_megatron_documents(*index, token_bytes, "a.bin"), token_bytes / index->dtype.itemsize);
}

}  // namespace
}  // namespace headrace::token_files

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::token_files::read_input(data, size);
  return 0;
}
