#include "format/hdf5/dataset_info.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "format/hdf5/chunks/chunk_index.h"
#include "format/hdf5/structure/object_header.h"
#include "format/hdf5/virtual/virtual_layout.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kSizeLimit = std::numeric_limits<std::int64_t>::max();

/// a *= b, or false if the product is no size any file can have.
bool multiply(std::uint64_t& a, std::uint64_t b) {
  return !__builtin_mul_overflow(a, b, &a) && a <= kSizeLimit;
}

Error damaged(const LibraryLock& library, const char* what) {
  return Error(ErrorCode::kCorruptData, fmt::format("cannot read {}: {}", what, last_library_error(library).text()));
}

/// Downgrade, never upgrade, and keep the first reason of the final level.
void limit(ArrayInfo& array, ReadPath path, std::string reason) {
  if (path <= array.read_path) return;
  array.read_path = path;
  array.reason = std::move(reason);
}

Status read_header_address(const LibraryLock& library, hid_t dataset, DatasetInfo& out) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  if (H5Oget_info3(dataset, &info, H5O_INFO_BASIC) < 0) return damaged(library, "the object's address");
  std::memcpy(&out.header_address, &info.token, sizeof out.header_address);  // native: little-endian, 8 bytes
#else
  H5O_info_t info;
  if (H5Oget_info2(dataset, &info, H5O_INFO_BASIC) < 0) return damaged(library, "the object's address");
  out.header_address = info.addr;
#endif
  return {};
}

Status read_shape(const LibraryLock& library, hid_t dataset, DatasetInfo& out) {
  const Id space(H5Dget_space(dataset));
  if (!space.ok()) return damaged(library, "the shape");
  const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
  if (kind == H5S_SCALAR || kind == H5S_NULL) return {};
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  if (rank < 0) return damaged(library, "the shape");
  out.array.shape.assign(dims.begin(), dims.begin() + rank);
  return {};
}

Result<std::vector<StoredFilter>> read_filters(const LibraryLock& library, hid_t list) {
  std::vector<StoredFilter> filters;
  const int count = H5Pget_nfilters(list);
  if (count < 0) return damaged(library, "the filters");
  for (int i = 0; i < count; ++i) {
    StoredFilter spec;
    std::array<char, 257> name{};
    std::size_t values = 0;
    unsigned flags = 0, config = 0;
    const auto index = static_cast<unsigned>(i);
    // Twice: the first call tells how many values there are.
    if (H5Pget_filter2(list, index, &flags, &values, nullptr, 0, nullptr, &config) < 0)
      return damaged(library, "the filters");
    if (values > 65'536) return Error(ErrorCode::kCorruptData, fmt::format("a filter with {} parameters", values));
    spec.client_values.resize(values);
    const H5Z_filter_t id =
        H5Pget_filter2(list, index, &flags, &values, spec.client_values.data(), name.size() - 1, name.data(), &config);
    if (id < 0) return damaged(library, "the filters");
    spec.id = static_cast<std::uint32_t>(id);
    spec.name = name.data();
    filters.push_back(std::move(spec));
  }
  return filters;
}

bool library_decodes(std::uint32_t id) {
  unsigned config = 0;
  return H5Zfilter_avail(static_cast<H5Z_filter_t>(id)) > 0 &&
         H5Zget_filter_info(static_cast<H5Z_filter_t>(id), &config) >= 0 &&
         (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) != 0;
}

/// Refuse what libhdf5 would have to decode without bounds. It hands on whatever a filter makes of a stream, however
/// short or long that is, so the one filter that only it has must see the stored bytes (a checksum behind it takes four
/// off), and nothing but shuffle, which keeps the length, may come after it.
void judge_library_pipeline(DatasetInfo& out) {
  bool bounded = true;
  std::size_t compressors = 0;
  std::string names;
  for (const StoredFilter& spec : out.filters) {
    if (!library_decodes(spec.id))
      return limit(out.array, ReadPath::kUnsupported,
                   fmt::format("{}, but libhdf5 has no {}", out.array.reason, filter_text(spec)));
    names += (names.empty() ? "" : ", ") + filter_text(spec);
    if (spec.id == H5Z_FILTER_SHUFFLE)
      bounded = bounded && compressors == 0;
    else if (spec.id == H5Z_FILTER_FLETCHER32)
      bounded = bounded && compressors == 1;
    else
      ++compressors;
  }
  if (!bounded || compressors != 1)
    limit(out.array, ReadPath::kUnsupported,
          fmt::format("{}, which would decode this pipeline without limits: {}", out.array.reason, names));
}

void judge_filters(DatasetInfo& out) {
  const ChunkForm& form = out.stored_form;
  for (const StoredFilter& spec : out.filters) {
    const FilterSpec codec_spec = codec_of(spec);
    FilterInfo info{!codec_spec.name.empty() ? codec_spec.name
                    : !spec.name.empty()     ? spec.name
                                             : filter_text(spec),
                    ""};
    auto codec = make_codec(codec_spec, form);
    if (codec.ok()) {
      info.setting = (*codec)->setting();
    } else if (codec_known(codec_spec.name)) {
      limit(out.array, ReadPath::kUnsupported, fmt::format("{}: {}", filter_text(spec), codec.error().message()));
    } else if (library_decodes(spec.id)) {
      limit(out.array, ReadPath::kFallback, filter_text(spec) + " is decoded by libhdf5");
    } else {
      limit(out.array, ReadPath::kUnsupported, filter_text(spec) + " is not known here, nor to libhdf5");
    }
    out.array.filters.push_back(std::move(info));
  }
  if (out.array.read_path == ReadPath::kFallback) judge_library_pipeline(out);
}

Status read_chunks(const LibraryLock& library, hid_t list, DatasetInfo& out) {
  ArrayInfo& a = out.array;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Pget_chunk(list, H5S_MAX_RANK, dims.data());
  if (rank != static_cast<int>(a.shape.size())) return damaged(library, "the chunk shape");
  a.chunk_shape.assign(dims.begin(), dims.begin() + rank);
  out.chunk_bytes = out.element.record_bytes;
  std::uint64_t cells = 1;
  bool chunk_fits = true, grid_fits = true;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.chunk_shape[d] == 0) return Error(ErrorCode::kCorruptData, "a chunk of length 0");
    out.grid.push_back(a.shape[d] / a.chunk_shape[d] + (a.shape[d] % a.chunk_shape[d] != 0));
    chunk_fits = chunk_fits && multiply(out.chunk_bytes, a.chunk_shape[d]);
    grid_fits = grid_fits && multiply(cells, out.grid[d]);
  }
  if (out.element.record_bytes == 0) return Error(ErrorCode::kCorruptData, "elements of 0 bytes");
  out.stored_form.element_bytes = out.element.stored_bytes;
  if (chunk_fits) out.stored_form.chunk_bytes = out.chunk_bytes / out.element.record_bytes;  // elements
  chunk_fits = chunk_fits && multiply(out.stored_form.chunk_bytes, out.element.stored_bytes);
  if (!chunk_fits || std::max(out.chunk_bytes, out.stored_form.chunk_bytes) > kChunkLimitBytes)
    limit(a, ReadPath::kUnsupported, "chunks of 4 GiB and more; rewrite it with smaller ones");
  if (!grid_fits || cells > kGridLimit)
    limit(a, ReadPath::kUnsupported, fmt::format("more than {} chunks; rewrite it with larger ones", kGridLimit));
  HEADRACE_ASSIGN(out.filters, read_filters(library, list));
  unsigned options = 0;
  if (H5Pget_chunk_opts(list, &options) >= 0)
    out.edges_unfiltered = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  judge_filters(out);
  return {};
}

void judge_outside(const LibraryLock& library, hid_t dataset, hid_t list, DatasetInfo& out, FileState& state,
                   SourceTrail* trail) {
  ArrayInfo& a = out.array;
  const std::uint64_t stored_bytes = out.row_bytes == 0 ? 0 : out.stored_row_bytes() * a.rows();
  if (a.layout == Layout::kExternal) {
    auto segments = external_segments(library, list, state.directory, stored_bytes);
    if (!segments.ok()) return limit(a, ReadPath::kUnsupported, segments.error().message());
    out.external = std::move(*segments);
  } else {
    auto layout = open_virtual_sources(library, state, dataset, list, out, trail);
    if (!layout.ok()) return limit(a, ReadPath::kUnsupported, layout.error().message());
    for (const VirtualSource& source : (*layout)->sources)
      if (const ArrayInfo& array = source.array->info(); is_slow(array))
        limit(a, array.read_path, fmt::format("its virtual source '{}': {}", array.path, array.reason));
    out.virtual_layout = std::move(*layout);
  }
}

/// Return the bytes of all chunks; 0 if their index is damaged, which reading it will say, or their number absurd.
Result<std::uint64_t> chunked_bytes(const FileState& state, const DatasetInfo& info) {
  if (info.array.read_path == ReadPath::kUnsupported) return 0;
  auto bytes = stored_bytes_of_chunks(state, info);
  if (!bytes.ok() && bytes.error().code() == ErrorCode::kCorruptData) return 0;
  return bytes;
}

}  // namespace

Result<DatasetInfo> describe_dataset(const LibraryLock& library, FileState& state, hid_t dataset,
                                     const std::string& path, const KnownOfDataset& known) {
  DatasetInfo out;
  ArrayInfo& a = out.array;
  a.path = path;
  HEADRACE_TRY(read_header_address(library, dataset, out));
  HEADRACE_TRY(read_shape(library, dataset, out));
  if (a.shape.empty()) return out;
  const Id type(H5Dget_type(dataset));
  if (!type.ok()) return damaged(library, "the datatype");
  const Id list(H5Dget_create_plist(dataset));
  if (!list.ok()) return damaged(library, "the creation properties");

  out.element = describe_type(library, type.get());
  a.read_path = out.element.path;
  a.reason = out.element.reason;
  a.no_numbers = a.read_path == ReadPath::kUnsupported;
  a.record_bytes = out.element.record_bytes;
  a.is_record = out.element.is_record;
  for (const Leaf& leaf : out.element.leaves) a.columns.push_back(leaf.column);
  a.left_out = out.element.left_out;

  // Sizes. A shape can claim anything: nothing is ever allocated for one.
  out.row_bytes = out.element.record_bytes;
  std::uint64_t stored_bytes = out.element.stored_bytes;
  bool fits = true;
  for (std::size_t d = 1; d < a.shape.size(); ++d)
    fits = fits && multiply(out.row_bytes, a.shape[d]) && multiply(stored_bytes, a.shape[d]);
  std::uint64_t bytes = out.row_bytes;
  fits = fits && multiply(bytes, a.shape[0]) && multiply(stored_bytes, a.shape[0]);
  if (!fits) {
    limit(a, ReadPath::kUnsupported, "a declared shape larger than any file");
    out.row_bytes = 0;
  }

  switch (H5Pget_layout(list.get())) {
    case H5D_COMPACT:
      a.layout = Layout::kCompact;
      break;
    case H5D_CONTIGUOUS:
      a.layout = H5Pget_external_count(list.get()) > 0 ? Layout::kExternal : Layout::kContiguous;
      break;
    case H5D_CHUNKED:
      a.layout = Layout::kChunked;
      HEADRACE_TRY(read_chunks(library, list.get(), out));
      break;
    case H5D_VIRTUAL:
      a.layout = Layout::kVirtual;
      break;
    default:
      return damaged(library, "the storage layout");
  }
  if (a.read_path != ReadPath::kUnsupported && (a.layout == Layout::kExternal || a.layout == Layout::kVirtual))
    judge_outside(library, dataset, list.get(), out, state, known.trail);
  // libhdf5 reads whole records only, and what members of variable length point to with them.
  const bool by_library = a.read_path == ReadPath::kFallback || a.layout == Layout::kCompact ||
                          a.layout == Layout::kVirtual || known.trail != nullptr;
  if (!a.left_out.empty() && a.read_path != ReadPath::kUnsupported && by_library)
    limit(a, ReadPath::kUnsupported, a.left_out[0].reason + ", in records that libhdf5 would read whole");
  if (a.read_path == ReadPath::kConverted || a.read_path == ReadPath::kFallback) a.library = "libhdf5";
  if (known.stored_bytes) {
    a.stored_bytes = *known.stored_bytes;
  } else if (a.layout == Layout::kChunked) {
    HEADRACE_ASSIGN(a.stored_bytes, chunked_bytes(state, out));
  } else {
    a.stored_bytes = H5Dget_storage_size(dataset);
  }
  return out;
}

}  // namespace headrace::hdf5
