#include "demo/jet_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <vector>

#include "demo/hdf5_handle.h"

namespace headrace::demo {
namespace {

static_assert(std::endian::native == std::endian::little, "the arrays are written as they lie in memory");

constexpr H5Z_filter_t kLzfFilter = 32000;
constexpr H5Z_filter_t kBloscFilter = 32001;

struct FieldShape {
  hid_t stored_type;
  std::size_t element_bytes;
  std::vector<hsize_t> extents;  // of one row

  [[nodiscard]] std::size_t row_bytes() const {
    std::size_t bytes = element_bytes;
    for (const hsize_t extent : extents) bytes *= extent;
    return bytes;
  }
};

FieldShape shape_of(std::size_t field) {
  switch (field) {
    case kFeatureMatrix:
      return {H5T_IEEE_F32LE, 4, {kMaxParticles, kFeatures}};
    case kAdjacencyMatrix:
      return {H5T_IEEE_F32LE, 4, {kPairs}};
    default:
      return {H5T_STD_I64LE, 8, {}};
  }
}

/// The filter pipeline as h5py and hdf5plugin would declare it. Filters libhdf5 does not have are declared optional,
/// as h5py does: they are applied by us, so libhdf5 need not know them.
bool set_filters(hid_t list, const Storage& storage, std::size_t element_bytes, std::size_t chunk_bytes) {
  const auto width = static_cast<unsigned>(element_bytes);
  const auto size = static_cast<unsigned>(chunk_bytes);
  if (storage.compression == Compression::kBloscZstd) {
    const unsigned values[] = {2, 2, width, size, static_cast<unsigned>(storage.level), storage.shuffle ? 1U : 0U,
                               5 /* zstd */};
    return H5Pset_filter(list, kBloscFilter, H5Z_FLAG_OPTIONAL, std::size(values), values) >= 0;
  }
  if (storage.shuffle && H5Pset_shuffle(list) < 0) return false;
  if (storage.compression == Compression::kGzip) return H5Pset_deflate(list, static_cast<unsigned>(storage.level)) >= 0;
  if (storage.compression == Compression::kLzf) {
    const unsigned values[] = {4 /* filter revision */, 0x0105 /* LZF version */, size};
    return H5Pset_filter(list, kLzfFilter, H5Z_FLAG_OPTIONAL, std::size(values), values) >= 0;
  }
  return true;
}

/// Scalar or one-dimensional strings, UTF-8 of variable length: h5py reads them as str.
bool write_strings(hid_t object, const char* name, const std::vector<const char*>& values, bool scalar) {
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const hsize_t extent = values.size();
  const SpaceHandle space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, nullptr));
  const AttributeHandle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return attribute.valid() && H5Awrite(attribute.get(), type.get(), values.data()) >= 0;
}

bool write_number(hid_t object, const char* name, hid_t stored, hid_t native, const void* value) {
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(H5Acreate2(object, name, stored, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return attribute.valid() && H5Awrite(attribute.get(), native, value) >= 0;
}

}  // namespace

struct JetFile::State {
  std::string path;
  std::string partial_path;
  std::uint64_t chunk_rows = 0;
  std::uint64_t rows = 0;
  bool contiguous = false;
  bool finished = false;
  FileHandle file;
  std::array<DatasetHandle, kFieldCount> datasets;

  ~State() {
    if (!finished) abandon();
    for (DatasetHandle& dataset : datasets) dataset.close();
    file.close();
    std::error_code ignored;
    if (!finished && !partial_path.empty()) std::filesystem::remove(partial_path, ignored);
  }

  /// Lets libhdf5 close a file that will not be kept: what it still wants to write goes into memory. Otherwise a full
  /// disk makes closing fail too, and libhdf5 1.10 then crashes when the program exits.
  void abandon() {
    int* descriptor = nullptr;
    if (!file.valid() || H5Fget_vfd_handle(file.get(), H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)) < 0) return;
#ifdef MFD_CLOEXEC
    const int nowhere = memfd_create("abandoned", MFD_CLOEXEC);
#else  // an older C library
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
#endif
    if (nowhere < 0) return;
    dup2(nowhere, *descriptor);
    ::close(nowhere);
  }

  bool create_dataset(std::size_t field, const JetOptions& options) {
    const FieldShape shape = shape_of(field);
    std::vector<hsize_t> extents{rows};
    extents.insert(extents.end(), shape.extents.begin(), shape.extents.end());
    const PropertyHandle list(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(list.get(), 0);  // equal options give equal bytes
    if (!contiguous) {
      std::vector<hsize_t> chunk = extents;
      chunk[0] = chunk_rows;
      if (H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) < 0) return false;
      if (!set_filters(list.get(), options.storage, shape.element_bytes, shape.row_bytes() * chunk_rows)) return false;
    }
    const SpaceHandle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
    datasets[field] = DatasetHandle(H5Dcreate2(file.get(), kFieldPaths[field], shape.stored_type, space.get(),
                                               H5P_DEFAULT, list.get(), H5P_DEFAULT));
    return datasets[field].valid();
  }

  bool write_attributes(const JetOptions& options) {
    const hid_t root = file.get();
    const hid_t adjacency = datasets[kAdjacencyMatrix].get();
    const std::int64_t particles = kMaxParticles;
    const std::int64_t pairs = kPairs;
    const float sentinel = kSentinel;
    const auto seed = options.seed;
    const std::string layout(to_string(options.pair_layout));
    return write_strings(root, "generator", {"headrace demo"}, true) &&
           write_strings(root, "feature_names", {kFeatureNames.begin(), kFeatureNames.end()}, false) &&
           write_number(root, "max_particles", H5T_STD_I64LE, H5T_NATIVE_INT64, &particles) &&
           write_number(root, "pad_max_pairs", H5T_STD_I64LE, H5T_NATIVE_INT64, &pairs) &&
           write_number(root, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &seed) &&
           write_strings(adjacency, "adjacency_type", {"upper"}, true) &&
           write_strings(adjacency, "layout", {layout.c_str()}, true) &&
           write_strings(adjacency, "quantity", {"delta_r"}, true) &&
           write_number(adjacency, "sentinel", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &sentinel);
  }

  /// True unless libhdf5 failed.
  bool write_rows(std::size_t field, std::uint64_t first_row, std::uint64_t count, const EncodedChunk& chunk) {
    const hid_t dataset = datasets[field].get();
    const FieldShape shape = shape_of(field);
    std::vector<hsize_t> start(1 + shape.extents.size(), 0);
    start[0] = first_row;
    if (!contiguous) {
      return H5Dwrite_chunk(dataset, H5P_DEFAULT, chunk.filter_mask, start.data(), chunk.bytes.size(),
                            chunk.bytes.data()) >= 0;
    }
    std::vector<hsize_t> extents{count};
    extents.insert(extents.end(), shape.extents.begin(), shape.extents.end());
    const SpaceHandle in_file(H5Dget_space(dataset));
    const SpaceHandle in_memory(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
    H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
    return H5Dwrite(dataset, shape.stored_type, in_memory.get(), in_file.get(), H5P_DEFAULT, chunk.bytes.data()) >= 0;
  }
};

JetFile::JetFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
JetFile::JetFile(JetFile&&) noexcept = default;
JetFile& JetFile::operator=(JetFile&&) noexcept = default;
JetFile::~JetFile() {
  const QuietHdf5 quiet;
  state_.reset();
}

Result<JetFile> JetFile::create(const std::string& path, std::uint64_t rows, const JetOptions& options) {
  const QuietHdf5 quiet;
  auto state = std::make_unique<State>();
  state->path = path;
  state->chunk_rows = chunk_rows_of(options, rows);
  state->rows = rows;
  state->contiguous = options.storage.contiguous;
  state->partial_path = path + ".partial";
  state->file = FileHandle(H5Fcreate(state->partial_path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  if (!state->file.valid()) return hdf5_write_error(path, "creating the file");
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    if (!state->create_dataset(field, options)) {
      return hdf5_write_error(path, "creating the dataset").with_field(kFieldPaths[field]);
    }
  }
  if (!state->write_attributes(options)) return hdf5_write_error(path, "writing the attributes");
  return JetFile(std::move(state));
}

Status JetFile::write(std::uint64_t first_row, std::uint64_t rows, const EncodedBlock& block) {
  const QuietHdf5 quiet;
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    if (!state_->write_rows(field, first_row, rows, block[field])) {
      return hdf5_write_error(state_->path, fmt::format("writing rows from {}", first_row).c_str())
          .with_field(kFieldPaths[field]);
    }
  }
  return {};
}

Result<std::uint64_t> JetFile::finish() {
  const QuietHdf5 quiet;
  // Everything is on disk before closing begins, since only a failed flush can be recovered from: see abandon().
  if (H5Fflush(state_->file.get(), H5F_SCOPE_GLOBAL) < 0) return hdf5_write_error(state_->path, "flushing the file");
  bool closed = true;
  for (DatasetHandle& dataset : state_->datasets) closed = dataset.close() && closed;
  closed = state_->file.close() && closed;
  if (!closed) return hdf5_write_error(state_->path, "closing the file");
  std::error_code failure;
  const std::uint64_t bytes = std::filesystem::file_size(state_->partial_path, failure);
  if (!failure) std::filesystem::rename(state_->partial_path, state_->path, failure);
  if (failure) {
    return Error(ErrorCode::kWriteFailed, fmt::format("giving the file its name failed: {}", failure.message()))
        .with_file(state_->path)
        .with_stage("write");
  }
  state_->finished = true;
  return bytes;
}

}  // namespace headrace::demo
