#include "demo/jet_file.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "demo/hdf5_handle.h"
#include "demo/write_error.h"
#include "format/hdf5/writing/output_file.h"

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
  hdf5::OutputFile output;  // before the handles: they are closed first
  FileHandle file;
  std::array<DatasetHandle, kFieldCount> datasets;

  ~State() {
    for (DatasetHandle& dataset : datasets) dataset.close();
    file.close();
    std::error_code ignored;
    if (!finished && !partial_path.empty()) std::filesystem::remove(partial_path, ignored);
  }

  /// What went wrong with the step just done, if anything did: the system's word before libhdf5's.
  [[nodiscard]] Status outcome(bool library_succeeded, const std::string& doing) const {
    if (output.failure() != 0) return write_error(path, doing.c_str(), output.failure());
    if (library_succeeded) return {};
    return Error(ErrorCode::kInternal, fmt::format("libhdf5 failed when {}", doing))
        .with_file(path)
        .with_stage("write");
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
  const std::string partial = path + ".partial";
  if (const int failure = state->output.create(partial); failure != 0)
    return write_error(partial, "creating the file", failure);
  state->partial_path = partial;
  const PropertyHandle access(state->output.access_list());
  state->file = FileHandle(H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  HEADRACE_TRY(state->outcome(state->file.valid(), "creating the file"));
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    Status created = state->outcome(state->create_dataset(field, options), "creating the dataset");
    if (!created.ok()) return created.error().with_field(kFieldPaths[field]);
  }
  HEADRACE_TRY(state->outcome(state->write_attributes(options), "writing the attributes"));
  return JetFile(std::move(state));
}

Status JetFile::write(std::uint64_t first_row, std::uint64_t rows, const EncodedBlock& block) {
  const QuietHdf5 quiet;
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    Status written = state_->outcome(state_->write_rows(field, first_row, rows, block[field]),
                                     fmt::format("writing rows from {}", first_row));
    if (!written.ok()) return written.error().with_field(kFieldPaths[field]);
  }
  return {};
}

Result<std::uint64_t> JetFile::finish() {
  const QuietHdf5 quiet;
  bool closed = true;
  for (DatasetHandle& dataset : state_->datasets) closed = dataset.close() && closed;
  closed = state_->file.close() && closed;
  HEADRACE_TRY(state_->outcome(closed, "closing the file"));
  if (std::rename(state_->partial_path.c_str(), state_->path.c_str()) != 0) {
    return write_error(state_->path, "giving the file its name", errno);
  }
  state_->finished = true;
  return state_->output.size();
}

}  // namespace headrace::demo
