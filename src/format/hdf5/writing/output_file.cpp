#include "format/hdf5/writing/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#if __has_include(<H5FDdevelop.h>)  // HDF5 >= 1.13: what driver authors need lives in a header of its own
#include <H5FDdevelop.h>
#endif

namespace headrace::hdf5 {
namespace {

struct DriverInfo {  // copied by libhdf5 with the property list
  OutputFile* output;
};

struct OpenFile {
  H5FD_t base{};  // first: libhdf5 knows only this part
  OutputFile* output = nullptr;
  haddr_t end_of_allocation = 0;
};

OpenFile* self(H5FD_t* file) {
  return reinterpret_cast<OpenFile*>(file);
}
const OpenFile* self(const H5FD_t* file) {
  return reinterpret_cast<const OpenFile*>(file);
}

void* copy_info(const void* info) {
  void* copy = std::malloc(sizeof(DriverInfo));
  if (copy != nullptr) std::memcpy(copy, info, sizeof(DriverInfo));
  return copy;
}
void* on_get_info(H5FD_t* file) {
  const DriverInfo info{self(file)->output};
  return copy_info(&info);
}
herr_t on_free_info(void* info) {
  std::free(info);
  return 0;
}

H5FD_t* on_open(const char*, unsigned, hid_t access_list, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access_list));
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenFile;
  if (file == nullptr) return nullptr;
  file->output = info->output;
  return &file->base;
}
herr_t on_close(H5FD_t* file) {
  delete self(file);
  return 0;
}
herr_t on_query(const H5FD_t*, unsigned long* flags) {  // as libhdf5's own driver for local files
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  }
  return 0;
}
haddr_t on_get_eoa(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->end_of_allocation;
}
herr_t on_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file)->end_of_allocation = address;
  return 0;
}
haddr_t on_get_eof(const H5FD_t* file, H5FD_mem_t) {
  return self(file)->output->size();
}
herr_t on_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  self(file)->output->read(address, static_cast<std::byte*>(buffer), size);
  return 0;
}
herr_t on_write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  self(file)->output->write(address, static_cast<const std::byte*>(buffer), size, type == H5FD_MEM_DRAW);
  return 0;
}
herr_t on_truncate(H5FD_t* file, hid_t, hbool_t) {
  self(file)->output->truncate(self(file)->end_of_allocation);
  return 0;
}

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t c{};  // by name: 1.13 put `version` and `value` first and new callbacks in the middle
#ifdef H5FD_CLASS_VERSION
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(0x4853);  // any free one in 512…65535
#endif
    c.name = "headrace_output";
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
    c.truncate = on_truncate;
    const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::memcpy(c.fl_map, map, sizeof map);
    return H5FDregister(&c);
  }();
  return id;
}

}  // namespace

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int OutputFile::open(const std::string& path, int flags) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0666);
  if (descriptor_ < 0) return errno;
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return errno;
  size_ = static_cast<std::uint64_t>(status.st_size);
  return 0;
}

int OutputFile::create(const std::string& path) {
  return open(path, O_CREAT | O_TRUNC);
}

int OutputFile::reopen(const std::string& path) {
  return open(path, 0);
}

hid_t OutputFile::access_list() {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const DriverInfo info{this};
  if (list >= 0 && H5Pset_driver(list, driver(), &info) < 0) {
    H5Pclose(list);
    return H5I_INVALID_HID;
  }
  return list;
}

void OutputFile::write_file(std::uint64_t offset, const std::byte* data, std::size_t size) {
  while (failure_ == 0 && size > 0) {
    const ssize_t written = pwrite(descriptor_, data, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno != EINTR) failure_ = errno;
      continue;
    }
    data += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::size_t>(written);
  }
}

void OutputFile::read_file(std::uint64_t offset, std::byte* data, std::size_t size) const {
  std::memset(data, 0, size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(descriptor_, data + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
}

/// Put bytes into the pages that they touch: those that are held, or all of them where `make`.
void OutputFile::hold(std::uint64_t offset, const std::byte* data, std::size_t size, bool make) {
  while (size > 0) {
    const std::uint64_t at = offset / kFilePageBytes * kFilePageBytes, within = offset - at;
    const std::size_t count = std::min<std::size_t>(size, kFilePageBytes - within);
    auto page = pages_.find(at);
    if (page == pages_.end() && make) {
      page = pages_.emplace(at, std::vector<std::byte>(kFilePageBytes)).first;
      read_file(at, page->second.data(), kFilePageBytes);
    }
    if (page != pages_.end()) std::memcpy(page->second.data() + within, data, count);
    data += count;
    offset += count;
    size -= count;
  }
}

void OutputFile::write(std::uint64_t offset, const std::byte* data, std::size_t size, bool raw) {
  size_ = std::max(size_, offset + size);
  if (raw || !holding_) {
    write_file(offset, data, size);
    if (failure_ == 0 && !pages_.empty()) hold(offset, data, size, /*make=*/false);
  }
  if (failure_ != 0 || (holding_ && !raw)) hold(offset, data, size, /*make=*/true);
}

void OutputFile::read(std::uint64_t offset, std::byte* data, std::size_t size) const {
  read_file(offset, data, size);
  auto page = pages_.upper_bound(offset);
  if (page != pages_.begin()) --page;
  for (; page != pages_.end() && page->first < offset + size; ++page) {
    const std::uint64_t first = std::max(offset, page->first);
    const std::uint64_t last = std::min(offset + size, page->first + kFilePageBytes);
    if (first < last) std::memcpy(data + (first - offset), page->second.data() + (first - page->first), last - first);
  }
}

void OutputFile::truncate(std::uint64_t size) {
  while (failure_ == 0 && ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) failure_ = errno;
  }
  size_ = size;
}

void OutputFile::apply_pages() {
  for (const auto& [at, bytes] : pages_)
    if (at < size_) write_file(at, bytes.data(), std::min(kFilePageBytes, size_ - at));
  if (failure_ == 0) pages_.clear();
}

void OutputFile::restore(const FilePages& pages, std::uint64_t size) {
  pages_ = pages;
  truncate(size);
  apply_pages();
}

void OutputFile::sync() {
  if (failure_ == 0 && ::fdatasync(descriptor_) != 0) failure_ = errno;
}

}  // namespace headrace::hdf5
