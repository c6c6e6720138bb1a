#include "format/hdf5/recording_driver.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#if __has_include(<H5FDdevelop.h>)  // HDF5 >= 1.13: what driver authors need lives in a header of its own
#include <H5FDdevelop.h>
#endif

namespace headrace::hdf5 {
namespace {

struct DriverInfo {  // copied by libhdf5 with the property list
  DriverState* state;
};

struct OpenHandle {
  std::shared_ptr<DriverState> state;
  std::shared_ptr<RandomAccessFile> bytes;
};

struct OpenFile {
  H5FD_t base{};  // first: libhdf5 knows only this part
  haddr_t end_of_allocation = 0;
  OpenHandle* held = nullptr;  // owned; a pointer keeps the struct standard-layout
};

OpenFile* self(H5FD_t* f) {
  return reinterpret_cast<OpenFile*>(f);
}
const OpenFile* self(const H5FD_t* f) {
  return reinterpret_cast<const OpenFile*>(f);
}

// Property lists carry the info; without these the library makes lists without it for virtual sources.
void* copy_info(const void* info) {
  void* copy = std::malloc(sizeof(DriverInfo));
  if (copy != nullptr) std::memcpy(copy, info, sizeof(DriverInfo));
  return copy;
}
void* on_get_info(H5FD_t* f) {
  const DriverInfo info{self(f)->held->state.get()};
  return copy_info(&info);
}
herr_t on_free_info(void* info) {
  std::free(info);
  return 0;
}

H5FD_t* on_open(const char*, unsigned flags, hid_t access_list, haddr_t) {
  if ((flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) return nullptr;
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access_list));
  if (info == nullptr) return nullptr;
  try {                                         // nothing may unwind through C
    if (!info->state->opening) return nullptr;  // another file, which a virtual dataset or a link names
    auto open = std::make_unique<OpenFile>();
    open->held = new OpenHandle{info->state->shared_from_this(), info->state->file};
    return &open.release()->base;
  } catch (...) {
    return nullptr;
  }
}

herr_t on_close(H5FD_t* f) {
  delete self(f)->held;
  delete self(f);
  return 0;
}

herr_t on_query(const H5FD_t*, unsigned long* flags) {
  // No H5FD_FEAT_DATA_SIEVE: raw reads must arrive one chunk at a time. No H5FD_FEAT_ACCUMULATE_METADATA: it saves no
  // read here, and the library's accumulator adds sizes to addresses unchecked: one just below 2^64 makes it copy from
  // outside its buffer.
  if (flags != nullptr) *flags = 0;
  return 0;
}

haddr_t on_get_eoa(const H5FD_t* f, H5FD_mem_t) {
  return self(f)->end_of_allocation;
}
herr_t on_set_eoa(H5FD_t* f, H5FD_mem_t, haddr_t address) {
  self(f)->end_of_allocation = address;
  return 0;
}
haddr_t on_get_eof(const H5FD_t* f, H5FD_mem_t) {
  return self(f)->held->bytes->size();
}

herr_t on_read(H5FD_t* f, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, void* buffer) {
  OpenFile& open = *self(f);
  DriverState& state = *open.held->state;
  if (state.recording.on && type == H5FD_MEM_DRAW) {
    ++state.recording.reads;
    state.recording.address = address;
    state.recording.size = size;
    return 0;
  }
  const RandomAccessFile& bytes = *open.held->bytes;
  auto* out = static_cast<std::byte*>(buffer);
  const std::uint64_t there = address < bytes.size() ? bytes.size() - address : 0;
  if (size > there) {
    if (type == H5FD_MEM_DRAW) return -1;       // data past the end must not become zeros
    std::memset(out + there, 0, size - there);  // libhdf5 reads small headers ahead, past the end of tiny files
    size = there;
  }
  if (size == 0) return 0;
  try {
    Status status = bytes.read_at(address, {out, size});
    if (status.ok()) return 0;
    if (!state.read_error) state.read_error = std::move(status.error());
    return -1;
  } catch (...) {
    return -1;
  }
}

herr_t on_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t c{};  // by name: 1.13 put `version` and `value` first and new callbacks in the middle
#ifdef H5FD_CLASS_VERSION
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(0x4852);  // any free one in 512…65535
#endif
    c.name = "headrace";
    c.maxaddr = haddr_t{1} << 62;
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(DriverInfo);
    c.fapl_get = on_get_info;
    c.fapl_copy = copy_info;
    c.fapl_free = on_free_info;
    c.open = on_open;
    c.close = on_close;
    c.query = on_query;
    c.get_eoa = on_get_eoa;
    c.set_eoa = on_set_eoa;
    c.get_eof = on_get_eof;
    c.read = on_read;
    c.write = on_write;
    const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::memcpy(c.fl_map, map, sizeof map);
    return H5FDregister(&c);
  }();
  return id;
}

}  // namespace

Id driver_access_list(const LibraryLock&, DriverState& state) {
  Id list(H5Pcreate(H5P_FILE_ACCESS));
  const DriverInfo info{&state};
  if (!list.ok() || H5Pset_driver(list.get(), driver(), &info) < 0) return {};
  return list;
}

Result<std::string> path_inside(const std::string& directory, const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path base(directory);
  const fs::path real = fs::canonical(base / name, failed);  // an absolute name replaces base
  if (failed) return Error(ErrorCode::kNotFound, fmt::format("cannot find '{}': {}", name, failed.message()));
  const fs::path relative = real.lexically_relative(base);
  if (relative.empty() || *relative.begin() == "..")
    return Error(ErrorCode::kUnsupported, fmt::format("'{}' lies outside the file's directory", name));
  if (!fs::is_regular_file(real, failed))
    return Error(ErrorCode::kNotFound, fmt::format("'{}' is not a regular file", name));
  return real.string();
}

}  // namespace headrace::hdf5
