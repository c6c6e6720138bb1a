#include "chunk_list.h"

#include <fcntl.h>
#include <hdf5.h>

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& field, const std::string& why) {
  throw std::runtime_error(file + " › " + field + ": " + why);
}

Filter known_filter(const std::string& file, const std::string& field, H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE:
      return Filter::kDeflate;
    case H5Z_FILTER_SHUFFLE:
      return Filter::kShuffle;
    case 32000:
      return Filter::kLzf;
    case 32001:
      return Filter::kBlosc;
    default:
      fail(file, field, "filter " + std::to_string(id) + " is not measured here");
  }
}

struct Opened {
  Field field;
  std::vector<Chunk> chunks;
  std::uint64_t rows = 0;
  std::uint64_t chunk_rows = 0;
};

Opened open_field(hid_t file, int descriptor, const std::string& file_name, const std::string& path,
                  std::uint64_t contiguous_rows) {
  const hid_t dataset = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  if (dataset < 0) fail(file_name, path, "cannot be opened");
  const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), list = H5Dget_create_plist(dataset);
  hsize_t extents[H5S_MAX_RANK], chunk[H5S_MAX_RANK], start[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, extents, nullptr);
  if (rank < 1) fail(file_name, path, "has no rows");
  Opened opened;
  opened.field.path = path;
  opened.field.element_bytes = H5Tget_size(type);
  opened.field.row_bytes = opened.field.element_bytes;
  for (int i = 1; i < rank; ++i) opened.field.row_bytes *= extents[i];
  opened.rows = extents[0];
  for (int i = 0; i < H5Pget_nfilters(list); ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    opened.field.filters.push_back(
        known_filter(file_name, path,
                     H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config)));
  }

  if (H5Pget_layout(list) == H5D_CONTIGUOUS) {
    opened.chunk_rows = std::min<std::uint64_t>(contiguous_rows, opened.rows);
    const haddr_t base = H5Dget_offset(dataset);
    if (base == HADDR_UNDEF) fail(file_name, path, "has no data");
    for (std::uint64_t row = 0; row < opened.rows; row += opened.chunk_rows) {
      const std::uint64_t bytes = std::min(opened.chunk_rows, opened.rows - row) * opened.field.row_bytes;
      opened.chunks.push_back({.offset = base + row * opened.field.row_bytes,
                               .stored_bytes = bytes,
                               .decoded_bytes = bytes,
                               .descriptor = descriptor});
    }
  } else {
    if (H5Pget_chunk(list, H5S_MAX_RANK, chunk) != rank) fail(file_name, path, "is neither chunked nor contiguous");
    for (int i = 1; i < rank; ++i) {
      if (chunk[i] != extents[i]) fail(file_name, path, "has chunks across the row");
    }
    opened.chunk_rows = chunk[0];
    hsize_t count = 0;
    if (H5Dget_num_chunks(dataset, space, &count) < 0) fail(file_name, path, "chunk index");
    if (count != (opened.rows + opened.chunk_rows - 1) / opened.chunk_rows) fail(file_name, path, "lacks chunks");
    for (hsize_t i = 0; i < count; ++i) {
      unsigned mask = 0;
      haddr_t offset = 0;
      hsize_t bytes = 0;
      if (H5Dget_chunk_info(dataset, space, i, start, &mask, &offset, &bytes) < 0) fail(file_name, path, "chunk index");
      if (start[0] / opened.chunk_rows != i) fail(file_name, path, "has chunks that are not there");
      opened.chunks.push_back({.offset = offset,
                               .stored_bytes = bytes,
                               .decoded_bytes = opened.chunk_rows * opened.field.row_bytes,
                               .filter_mask = mask,
                               .descriptor = descriptor});
    }
  }
  H5Pclose(list);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  return opened;
}

}  // namespace

Workload list_chunks(const std::vector<std::string>& files, const std::vector<std::string>& fields,
                     std::uint64_t contiguous_rows) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Workload workload;
  for (const std::string& name : files) {
    const hid_t file = H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || descriptor < 0) throw std::runtime_error(name + ": cannot be opened");
    std::vector<Opened> opened;
    for (const std::string& path : fields) opened.push_back(open_field(file, descriptor, name, path, contiguous_rows));
    H5Fclose(file);
    const std::uint64_t rows = opened.front().rows, chunk_rows = opened.front().chunk_rows;
    const std::size_t first_block = workload.blocks.size();
    workload.blocks.resize(first_block + (rows + chunk_rows - 1) / chunk_rows);
    for (std::size_t field = 0; field < opened.size(); ++field) {
      if (opened[field].rows != rows || opened[field].chunk_rows != chunk_rows) {
        fail(name, fields[field], "has other rows or chunk rows than " + fields[0]);
      }
      for (std::size_t i = 0; i < opened[field].chunks.size(); ++i) {
        Chunk chunk = opened[field].chunks[i];
        chunk.field = static_cast<std::uint32_t>(field);
        Block& block = workload.blocks[first_block + i];
        block.rows = std::min(chunk_rows, rows - i * chunk_rows);
        block.chunks.push_back(chunk);
        workload.largest_stored_bytes = std::max(workload.largest_stored_bytes, chunk.stored_bytes);
        workload.largest_decoded_bytes = std::max(workload.largest_decoded_bytes, chunk.decoded_bytes);
      }
      if (workload.fields.size() < fields.size()) workload.fields.push_back(opened[field].field);
      if (opened[field].field.filters != workload.fields[field].filters) fail(name, fields[field], "has other filters");
    }
    workload.rows += rows;
  }
  return workload;
}

}  // namespace bench
