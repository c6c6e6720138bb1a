#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "format/hdf5/arrays/plain_arrays.h"
#include "format/hdf5/open_described.h"
#include "format/hdf5/outside_files.h"
#include "format/hdf5/structure/global_heap.h"
#include "format/hdf5/types/native_bytes.h"
#include "format/hdf5/virtual/virtual_layout.h"
#include "format/hdf5/walk.h"
#include "storage/file_system.h"

namespace headrace::hdf5 {

namespace {

/// A file that is open in libhdf5 for as long as this lives.
class LibraryUse {
 public:
  static Result<LibraryUse> begin(const LibraryLock& library, std::shared_ptr<FileState> state) {
    HEADRACE_TRY(state->use_library(library));
    return LibraryUse(library, std::move(state));
  }
  LibraryUse(LibraryUse&&) = default;
  LibraryUse& operator=(LibraryUse&&) = delete;
  ~LibraryUse() {
    if (state_ != nullptr) state_->leave_library(library_);
  }

 private:
  LibraryUse(const LibraryLock& library, std::shared_ptr<FileState> state)
      : library_(library), state_(std::move(state)) {}
  const LibraryLock& library_;
  std::shared_ptr<FileState> state_;
};

}  // namespace

/// What is open while the sources of a virtual dataset are, and those of sources that are virtual themselves. Each
/// dataset is opened once, however often it is mapped and from wherever, so that opening ends soon.
struct SourceTrail {
  struct Dataset {
    std::string file;  // canonical
    std::uint64_t header_address = 0;
    auto operator<=>(const Dataset&) const = default;
  };
  struct Opened {
    std::shared_ptr<const ArrayBase> array;
    std::shared_ptr<const Id> type;  // as stored
  };
  struct File {
    std::shared_ptr<FileState> state;
    std::set<std::uint64_t> checked_groups;  // see find_checked()
  };
  std::vector<Dataset> entered;       // the virtual datasets, outermost first
  std::map<std::string, File> files;  // by canonical path, those of the virtual datasets too
  std::map<Dataset, Opened> arrays;
  std::map<const FileState*, LibraryUse> in_use;  // so that files of many sources are not opened for each of them
};

namespace {

constexpr std::size_t kSourceFilesLimit = 10'000;
constexpr std::size_t kVirtualDepthLimit = 8;  // virtual datasets of virtual datasets
constexpr std::size_t kInUseLimit = 16;        // an open file costs libhdf5 0.5 MB
constexpr double kWorkLimit = 64;              // elements that are read for one: mappings can hide each other

std::string canonical(const std::string& path) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? path : real.string();
}

/// Return what H5Pget_virtual_filename or its sister says.
std::string virtual_name(ssize_t (*get)(hid_t, size_t, char*, size_t), hid_t list, std::size_t index) {
  const ssize_t n = get(list, index, nullptr, 0);
  if (n <= 0) return {};
  std::string name(static_cast<std::size_t>(n) + 1, '\0');
  get(list, index, name.data(), name.size());
  name.resize(static_cast<std::size_t>(n));
  return name;
}

/// A virtual dataset on the trail.
class Entered {
 public:
  Entered(SourceTrail& trail, FileState& state, std::uint64_t header_address) : trail_(trail) {
    const std::string path = canonical(state.path);
    trail.files.try_emplace(path, SourceTrail::File{state.shared_from_this(), {}});
    trail.entered.push_back({path, header_address});
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { trail_.entered.pop_back(); }

 private:
  SourceTrail& trail_;
};

/// A source that is one value: read at once, in the virtual dataset's type.
Result<std::shared_ptr<ArrayBase>> open_scalar(const LibraryLock& library, std::shared_ptr<FileState> state,
                                               hid_t dataset, hid_t type, DatasetInfo info) {
  info.element = describe_type(library, type);
  info.array.shape = {1};
  info.array.record_bytes = info.row_bytes = info.element.record_bytes;
  for (const Leaf& leaf : info.element.leaves) info.array.columns.push_back(leaf.column);
  std::vector<std::byte> value(static_cast<std::size_t>(info.row_bytes));
  const Id list(H5Dget_create_plist(dataset));
  // libhdf5 would take what lies elsewhere for fill values, or decode it without bounds.
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout != H5D_COMPACT && (layout != H5D_CONTIGUOUS || H5Pget_external_count(list.get()) != 0))
    return Error(ErrorCode::kUnsupported, "is a single value that lies in another dataset or in external raw files");
  const std::uint64_t stored_bytes = H5Dget_storage_size(dataset),
                      needed_bytes = H5Tget_size(Id(H5Dget_type(dataset)).get());
  const bool is_written = layout == H5D_COMPACT || H5Dget_offset(dataset) != HADDR_UNDEF;
  if (is_written && stored_bytes < needed_bytes)  // 1.10 reads on
    return Error(ErrorCode::kCorruptData,
                 fmt::format("is a single value of {} bytes, of which {} are stored", needed_bytes, stored_bytes));
  const hid_t memory = info.element.memory_type.ok() ? info.element.memory_type.get() : type;
  if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
    return library_failure(library, *state, "read the value");
  to_native(info.element, value);
  return std::shared_ptr<ArrayBase>(std::make_shared<MemoryArray>(std::move(state), std::move(info), std::move(value)));
}

/// Opens the sources of one virtual dataset.
class Sources {
 public:
  Sources(const LibraryLock& library, SourceTrail& trail, FileState& state, hid_t dataset, hid_t list,
          const DatasetInfo& info)
      : library_(library), state_(state), trail_(trail), info_(info), type_(H5Dget_type(dataset)), list_(list) {}

  Result<std::shared_ptr<const VirtualLayout>> open() {
    std::size_t count = 0;
    if (H5Pget_virtual_count(list_, &count) < 0 || count > kMappingsLimit)
      return Error(ErrorCode::kUnsupported, fmt::format("a virtual dataset of {} mappings", count));
    if (trail_.entered.size() > kVirtualDepthLimit)
      return Error(ErrorCode::kUnsupported,
                   fmt::format("virtual datasets of virtual datasets, {} deep", kVirtualDepthLimit));
    for (std::size_t i = 0; i < count; ++i) HEADRACE_TRY(add_mapping(i));
    HEADRACE_TRY(add_up_work());
    return std::shared_ptr<const VirtualLayout>(std::make_shared<VirtualLayout>(std::move(layout_)));
  }

 private:
  Status add_mapping(std::size_t i) {
    const std::string file = virtual_name(H5Pget_virtual_filename, list_, i);
    const std::string name = virtual_name(H5Pget_virtual_dsetname, list_, i);
    if (file.find('%') != std::string::npos || name.find('%') != std::string::npos)
      return Error(ErrorCode::kUnsupported, fmt::format("virtual sources by pattern ('{}', '{}')", file, name));
    const Id into(H5Pget_virtual_vspace(list_, i)), from(H5Pget_virtual_srcspace(list_, i));
    const hssize_t points = H5Sget_select_npoints(into.get());
    if (points < 0 || static_cast<hsize_t>(points) == H5S_UNLIMITED)
      return Error(ErrorCode::kUnsupported, "virtual sources without an end");
    if (points == 0) return {};
    VirtualMapping mapping;
    const auto [known, is_new] = numbers_.try_emplace({file, name}, layout_.sources.size());
    if (is_new) {
      auto source = open_source(file, name);
      if (!source.ok()) return source.error();
      layout_.sources.push_back(std::move(*source));
    }
    mapping.source = known->second;
    const auto refuse = [&](const std::string& why) {
      return Error(ErrorCode::kCorruptData, fmt::format("its virtual source '{}' {}", name, why));
    };
    const std::vector<std::uint64_t>& have = layout_.sources[mapping.source].array->info().shape;
    if (H5Sget_select_type(from.get()) == H5S_SEL_HYPERSLABS) {
      std::vector<hsize_t> first(H5S_MAX_RANK), last(H5S_MAX_RANK);
      if (H5Sget_simple_extent_ndims(from.get()) != static_cast<int>(have.size()))
        return refuse("does not have the rank it is mapped with");
      if (H5Sget_select_bounds(from.get(), first.data(), last.data()) >= 0)
        for (std::size_t d = 0; d < have.size(); ++d)
          if (last[d] >= have[d])
            return refuse(fmt::format("has {} entries along axis {}, {} are mapped", have[d], d, last[d] + 1));
    }
    HEADRACE_ASSIGN(mapping.into, read_selection(library_, into.get(), info_.array.shape));
    HEADRACE_ASSIGN(mapping.from, read_selection(library_, from.get(), have));
    if (mapping.from.size != mapping.into.size)
      return refuse(fmt::format("has {} elements, {} are mapped", mapping.from.size, mapping.into.size));
    layout_.mappings.push_back(std::move(mapping));
    return {};
  }

  Result<VirtualSource> open_source(const std::string& file, const std::string& name) {
    std::string path = trail_.entered.back().file;
    if (file != ".") {
      if (state_.directory.empty())
        return Error(ErrorCode::kUnsupported, "virtual sources beside a file without a directory");
      HEADRACE_ASSIGN(path, path_inside(state_.directory, file));
      if (Status opened = open_file(path); !opened.ok())
        return Error(opened.error().code(),
                     fmt::format("its virtual source file '{}' cannot be opened: {}", file, opened.error().message()));
    }
    auto array = open_array(path, name);
    if (!array.ok()) {
      const bool missing = array.error().code() == ErrorCode::kNotFound;
      return Error(array.error().code(),
                   fmt::format("its virtual source '{}' {}{}{}", name, file == "." ? "" : fmt::format("of '{}' ", file),
                               missing ? "cannot be opened: " : "", array.error().message()));
    }
    auto conversion = SourceConversion::between(library_, array->type->get(), array->array->described().element,
                                                type_.get(), info_.element);
    if (!conversion.ok())
      return Error(conversion.error().code(),
                   fmt::format("its virtual source '{}' {}", name, conversion.error().message()));
    return VirtualSource{array->array, std::move(*conversion)};
  }

  Status open_file(const std::string& path) {
    std::shared_ptr<FileState>& known = trail_.files[path].state;
    if (known != nullptr) return {};
    if (trail_.files.size() > kSourceFilesLimit + 1)  // that of the virtual dataset is one of them
      return Error(ErrorCode::kUnsupported, fmt::format("virtual sources in more than {} files", kSourceFilesLimit));
    HEADRACE_ASSIGN(auto file, FileSystem::of(path).open(path));
    HEADRACE_ASSIGN(known, open_state(std::move(file), path));
    return {};
  }

  /// Leave the file open in libhdf5 for the next source, as long as there are few of them.
  Status keep_in_use(const std::shared_ptr<FileState>& state) {
    if (trail_.in_use.contains(state.get())) return {};
    if (trail_.in_use.size() >= kInUseLimit) trail_.in_use.clear();
    HEADRACE_ASSIGN(LibraryUse use, LibraryUse::begin(library_, state));
    trail_.in_use.emplace(state.get(), std::move(use));
    return {};
  }

  /// \param path  Of a file on the trail.
  Result<SourceTrail::Opened> open_array(const std::string& path, const std::string& name) {
    const std::shared_ptr<FileState> state = trail_.files[path].state;
    HEADRACE_TRY(keep_in_use(state));
    HEADRACE_ASSIGN(const LibraryUse use, LibraryUse::begin(library_, state));  // sources of sources are opened below
    HEADRACE_ASSIGN(const CheckedDataset found,
                    find_checked(library_, *state, name, trail_.files[path].checked_groups));
    const SourceTrail::Dataset key{path, found.header_address};
    if (std::ranges::find(trail_.entered, key) != trail_.entered.end())
      return Error(ErrorCode::kUnsupported, "is put together of itself");
    if (const auto known = trail_.arrays.find(key); known != trail_.arrays.end()) return known->second;
    Id dataset = open_dataset(library_, *state, found.path);
    if (!dataset.ok()) return library_failure(library_, *state, "open the dataset");
    HEADRACE_ASSIGN(DatasetInfo described, describe_dataset(library_, *state, dataset.get(), found.path,
                                                            {.trail = &trail_, .stored_bytes = 0}));  // not asked for
    if (described.array.layout == Layout::kExternal)
      return Error(ErrorCode::kUnsupported, "is stored in external raw files");
    if (described.array.read_path == ReadPath::kUnsupported)
      return Error(ErrorCode::kUnsupported, "cannot be read: " + described.array.reason);
    const bool scalar = described.array.shape.empty();
    const auto type = std::make_shared<const Id>(scalar ? H5Tcopy(type_.get()) : H5Dget_type(dataset.get()));
    auto array = scalar ? open_scalar(library_, state, dataset.get(), type_.get(), std::move(described))
                        : open_described(library_, state, std::move(described), std::move(dataset));
    if (!array.ok()) return array.error();
    return trail_.arrays[key] = {std::move(*array), type};
  }

  Status add_up_work() {
    double elements = 1, read = 0;
    for (const std::uint64_t n : info_.array.shape) elements *= static_cast<double>(n);
    for (const VirtualMapping& m : layout_.mappings) {
      const auto& nested = layout_.sources[m.source].array->described().virtual_layout;
      read += static_cast<double>(m.into.size) * (nested == nullptr ? 1 : nested->work);
    }
    layout_.work = std::max(1.0, read / std::max(elements, 1.0));
    if (layout_.work > kWorkLimit)
      return Error(ErrorCode::kUnsupported,
                   fmt::format("virtual sources that hide each other {:.0f} times", layout_.work));
    return {};
  }

  const LibraryLock& library_;
  FileState& state_;
  SourceTrail& trail_;
  const DatasetInfo& info_;
  Id type_;
  const hid_t list_;
  VirtualLayout layout_;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

}  // namespace

Result<std::shared_ptr<const VirtualLayout>> open_virtual_sources(const LibraryLock& library, FileState& state,
                                                                  hid_t dataset, hid_t creation_list,
                                                                  const DatasetInfo& info, SourceTrail* trail) {
  SourceTrail own;
  SourceTrail& open = trail == nullptr ? own : *trail;
  const Entered entered(open, state, info.header_address);
  return Sources(library, open, state, dataset, creation_list, info).open();
}

}  // namespace headrace::hdf5
