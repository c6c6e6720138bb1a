// Where the stored chunks of some datasets lie, straight from libhdf5. Written apart from the engine on purpose: the
// yardstick must not share its mistakes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class Filter : std::uint8_t { kNone, kDeflate, kShuffle, kLzf, kBlosc };

struct Chunk {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t stored_bytes = 0;
  std::uint64_t decoded_bytes = 0;  // of the whole chunk
  std::uint32_t filter_mask = 0;
  std::uint32_t field = 0;
  int descriptor = -1;
};

/// All chunks of one range of rows: what one task of a thread reads and decodes.
struct Block {
  std::vector<Chunk> chunks;
  std::uint64_t rows = 0;
};

struct Field {
  std::string path;
  std::uint64_t row_bytes = 0;
  std::uint64_t element_bytes = 0;
  std::vector<Filter> filters;  // in the order in which they were applied
};

struct Workload {
  std::vector<Field> fields;
  std::vector<Block> blocks;
  std::uint64_t rows = 0;
  std::uint64_t largest_stored_bytes = 0;
  std::uint64_t largest_decoded_bytes = 0;
};

/// Opens the files and lists their blocks. Fields without chunks are cut into blocks of `contiguous_rows`. All fields
/// of a file must be chunked by the same number of rows. Throws std::runtime_error that names file and dataset.
Workload list_chunks(const std::vector<std::string>& files, const std::vector<std::string>& fields,
                     std::uint64_t contiguous_rows);

}  // namespace bench
