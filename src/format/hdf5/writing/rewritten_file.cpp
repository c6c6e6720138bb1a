#include "format/hdf5/writing/rewritten_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "codec/elements/byteswap.h"
#include "format/hdf5/filter_ids.h"
#include "format/hdf5/library_lock.h"
#include "format/hdf5/types/element_type.h"
#include "format/hdf5/types/number_type.h"
#include "format/hdf5/writing/object_copy.h"
#include "format/hdf5/writing/output_file.h"

namespace headrace::hdf5 {
namespace {

Result<Id> open_source(const LibraryLock& library, const std::string& path) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);  // read-only data and network mounts are normal
  Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (file.ok()) return file;
  return Error(ErrorCode::kCorruptData, "libhdf5 cannot open it: " + last_library_error(library).text())
      .with_file(path)
      .with_stage("open");
}

/// Dataset creation list: fill value, order of attributes as in the source; chunks and filters as wanted.
Result<Id> creation_list(const NewArray& array, hid_t source, hid_t type) {
  Id list(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(list.get(), 0);
  if (source >= 0) {
    const Id like(H5Dget_create_plist(source));
    unsigned order = 0;
    if (H5Pget_attr_creation_order(like.get(), &order) >= 0) H5Pset_attr_creation_order(list.get(), order);
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    if (H5Pfill_value_defined(like.get(), &defined) >= 0 && defined == H5D_FILL_VALUE_USER_DEFINED) {
      std::vector<std::byte> fill(H5Tget_size(type));
      if (H5Pget_fill_value(like.get(), type, fill.data()) >= 0) H5Pset_fill_value(list.get(), type, fill.data());
    }
    H5D_fill_time_t time = H5D_FILL_TIME_IFSET;
    if (H5Pget_fill_time(like.get(), &time) >= 0) H5Pset_fill_time(list.get(), time);
  }
  if (array.chunk_shape.empty()) {
    H5Pset_layout(list.get(), H5D_CONTIGUOUS);
    return list;
  }
  const std::vector<hsize_t> chunk(array.chunk_shape.begin(), array.chunk_shape.end());
  std::uint64_t chunk_bytes = array.info.record_bytes;
  for (const hsize_t extent : chunk) chunk_bytes *= extent;
  bool made = H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
  for (const FilterSpec& filter : filters_of(array.coding, array.element_bytes, chunk_bytes)) {
    const auto id = static_cast<H5Z_filter_t>(filter_id(filter.name));
    if (filter.name == "shuffle")  // libhdf5 gives it its parameters
      made = made && H5Pset_shuffle(list.get()) >= 0;
    else  // optional, as h5py does: libhdf5 itself need not have it
      made = made &&
             H5Pset_filter(list.get(), id, H5Z_FLAG_OPTIONAL, filter.parameters.size(), filter.parameters.data()) >= 0;
  }
  if (!made) return Error(ErrorCode::kInternal, "libhdf5 refuses the chunks or filters");
  return list;
}

Status put_back(OutputFile& output, const std::string& path, const PageJournal& journal) {
  if (const int failure = output.reopen(path); failure != 0)
    return write_failure(path, "opening what was written before", failure);
  output.restore(journal.pages, journal.file_size);
  output.sync();
  return output.failure() == 0 ? Status() : write_failure(path, "writing the file's structure", output.failure());
}

}  // namespace

struct RewrittenFile::State {
  std::string path;
  std::vector<NewArray> arrays;
  CopiedObjects objects;
  OutputFile output;  // before the ids: they are closed first
  Id file;
  std::vector<Id> datasets;

  /// What went wrong with the step just done, if anything did: the system's word before libhdf5's.
  [[nodiscard]] Status outcome(const LibraryLock& library, bool succeeded, const std::string& doing) const {
    if (output.failure() != 0) return write_failure(path, doing, output.failure());
    if (succeeded) return {};
    return Error(ErrorCode::kInternal, fmt::format("{} failed: {}", doing, last_library_error(library).text()))
        .with_file(path)
        .with_stage("write");
  }

  Result<Id> make_dataset(const LibraryLock& library, std::size_t index, const std::string& place, hid_t source) {
    const NewArray& array = arrays[index];
    Id type, space;
    if (source >= 0) {
      type = Id(H5Tcopy(Id(H5Dget_type(source)).get()));
      space = Id(H5Dget_space(source));
      if (array.chunk_shape.empty()) {  // what cannot grow needs no chunks
        std::vector<hsize_t> extents(array.info.shape.begin(), array.info.shape.end());
        space = Id(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
      }
    } else {
      HEADRACE_ASSIGN(type, type_of_columns(library, array.info));
      const std::vector<hsize_t> extents(array.info.shape.begin(), array.info.shape.end());
      space = Id(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
    }
    HEADRACE_ASSIGN(const Id list, creation_list(array, source, type.get()));
    const Id links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_char_encoding(links.get(), H5T_CSET_UTF8);
    Id made(H5Dcreate2(file.get(), place.c_str(), type.get(), space.get(), links.get(), list.get(), H5P_DEFAULT));
    Status created = outcome(library, made.ok(), "creating the dataset");
    if (!created.ok()) return std::move(created.error().with_field(array.info.path));
    return made;
  }

  Status copy_user_block(const std::string& source, std::uint64_t bytes) {
    std::vector<char> block(bytes);
    std::ifstream(source, std::ios::binary).read(block.data(), static_cast<std::streamsize>(bytes));
    output.write(0, reinterpret_cast<const std::byte*>(block.data()), bytes, true);
    return output.failure() == 0 ? Status() : write_failure(path, "copying the user block", output.failure());
  }

  Status create_file(const LibraryLock& library, const std::string& source) {
    Id from, creation(H5Pcreate(H5P_FILE_CREATE));
    hsize_t user_block = 0;
    if (!source.empty()) {
      HEADRACE_ASSIGN(from, open_source(library, source));
      const Id root(H5Gopen2(from.get(), "/", H5P_DEFAULT));
      creation = group_list_like(library, root.get(), H5P_FILE_CREATE);
      H5Pget_userblock(Id(H5Fget_create_plist(from.get())).get(), &user_block);
      H5Pset_userblock(creation.get(), user_block);
    }
    const Id access(output.access_list());
    // From HDF5 1.8 on: attributes of more than 64 KiB, and no superblock that says "being written" for ever.
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    file = Id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    HEADRACE_TRY(outcome(library, file.ok(), "creating the file"));
    if (source.empty()) {
      for (std::size_t i = 0; i < arrays.size(); ++i)
        HEADRACE_TRY(make_dataset(library, i, arrays[i].info.path, H5I_INVALID_HID));
    } else {
      std::vector<std::string> remade;
      for (const NewArray& array : arrays) remade.push_back(array.info.path);
      auto copied =
          copy_objects(library, from.get(), file.get(), remade,
                       [&](const std::string& name, const std::string& place, hid_t dataset) {
                         const auto at = std::find(remade.begin(), remade.end(), name);
                         return make_dataset(library, static_cast<std::size_t>(at - remade.begin()), place, dataset);
                       });
      HEADRACE_TRY(outcome(library, true, "copying the objects"));
      if (!copied.ok()) return std::move(copied.error().with_file(source));
      objects = *std::move(copied);
    }
    HEADRACE_TRY(open_datasets(library));
    HEADRACE_TRY(outcome(library, H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0, "writing the file's structure"));
    if (user_block > 0) HEADRACE_TRY(copy_user_block(source, user_block));
    output.hold_metadata();
    return {};
  }

  Status open_datasets(const LibraryLock& library) {
    for (const NewArray& array : arrays) {
      datasets.emplace_back(H5Dopen2(file.get(), array.info.path.c_str(), H5P_DEFAULT));
      Status opened = outcome(library, datasets.back().ok(), "opening the dataset");
      if (!opened.ok()) return std::move(opened.error().with_field(array.info.path));
    }
    return {};
  }

  Status keep(const std::string& journal, const std::string& state) {
    output.sync();
    if (output.failure() != 0) return write_failure(path, "writing to the disk", output.failure());
    HEADRACE_TRY(write_journal(journal, {state, output.size(), output.pages()}));
    output.apply_pages();
    return output.failure() == 0 ? Status() : write_failure(path, "writing the file's structure", output.failure());
  }

  ~State() {
    const LibraryLock library;
    datasets.clear();
    file.reset();
  }
};

RewrittenFile::RewrittenFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
RewrittenFile::~RewrittenFile() = default;

Result<std::unique_ptr<RewrittenFile>> RewrittenFile::create(const std::string& source, const std::string& path,
                                                             std::vector<NewArray> arrays) {
  const LibraryLock library;
  auto state = std::make_unique<State>();
  state->path = path;
  state->arrays = std::move(arrays);
  if (const int failure = state->output.create(path); failure != 0)
    return write_failure(path, "creating the file", failure);
  HEADRACE_TRY(state->create_file(library, source));
  return std::unique_ptr<RewrittenFile>(new RewrittenFile(std::move(state)));
}

Result<std::unique_ptr<RewrittenFile>> RewrittenFile::reopen(const std::string& path, const PageJournal& journal,
                                                             std::vector<NewArray> arrays) {
  const LibraryLock library;
  auto state = std::make_unique<State>();
  state->path = path;
  state->arrays = std::move(arrays);
  HEADRACE_TRY(put_back(state->output, path, journal));
  state->output.hold_metadata();
  const Id access(state->output.access_list());
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  state->file = Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()));
  HEADRACE_TRY(state->outcome(library, state->file.ok(), "opening what was written before"));
  HEADRACE_TRY(state->open_datasets(library));
  return std::unique_ptr<RewrittenFile>(new RewrittenFile(std::move(state)));
}

Status RewrittenFile::restore(const std::string& path, const PageJournal& journal) {
  OutputFile output;
  return put_back(output, path, journal);
}

Status RewrittenFile::write_chunk(std::size_t array, std::uint64_t first_row, const EncodedChunk& chunk) {
  const LibraryLock library;
  std::vector<hsize_t> start(state_->arrays[array].info.shape.size(), 0);
  start[0] = first_row;
  const bool written = H5Dwrite_chunk(state_->datasets[array].get(), H5P_DEFAULT, chunk.filter_mask, start.data(),
                                      chunk.bytes.size(), chunk.bytes.data()) >= 0;
  Status status = state_->outcome(library, written, fmt::format("writing rows from {}", first_row));
  if (!status.ok()) status.error().with_field(state_->arrays[array].info.path);
  return status;
}

Status RewrittenFile::write_rows(std::size_t array, std::uint64_t first_row, std::uint64_t rows,
                                 std::span<const std::byte> bytes) {
  const LibraryLock library;
  const hid_t dataset = state_->datasets[array].get();
  const std::vector<std::uint64_t>& shape = state_->arrays[array].info.shape;
  std::vector<hsize_t> extents(shape.begin(), shape.end()), start(shape.size(), 0);
  start[0] = first_row;
  extents[0] = rows;
  const Id type(H5Tcopy(Id(H5Dget_type(dataset)).get())), in_file(H5Dget_space(dataset)),
      in_memory(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
  H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
  const bool written = H5Dwrite(dataset, type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, bytes.data()) >= 0;
  Status status = state_->outcome(library, written, fmt::format("writing rows from {}", first_row));
  if (!status.ok()) status.error().with_field(state_->arrays[array].info.path);
  return status;
}

Status RewrittenFile::save(const std::string& journal, const std::string& state) {
  const LibraryLock library;
  HEADRACE_TRY(state_->outcome(library, H5Fflush(state_->file.get(), H5F_SCOPE_LOCAL) >= 0, "flushing the file"));
  return state_->keep(journal, state);
}

Status RewrittenFile::close(const std::string& journal, const std::string& state) {
  const LibraryLock library;
  state_->datasets.clear();
  state_->file.reset();
  HEADRACE_TRY(state_->outcome(library, true, "closing the file"));
  HEADRACE_TRY(state_->keep(journal, state));
  state_->output.sync();
  return state_->outcome(library, true, "writing to the disk");
}

const std::vector<std::string>& RewrittenFile::copied() const {
  return state_->objects.datasets;
}
const std::vector<std::string>& RewrittenFile::notes() const {
  return state_->objects.notes;
}

void to_stored(const StoredForm& form, std::uint64_t element_bytes, std::span<std::byte> elements) {
  if (form.swap_width > 1) swap_bytes(elements, form.swap_width);
  for (const SpacePadded& run : form.spaces)
    for (std::size_t at = 0; at + element_bytes <= elements.size(); at += element_bytes)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::span<std::byte> text = elements.subspan(at + run.offset + i * run.width, run.width);
        for (std::size_t end = text.size(); end > 0 && text[end - 1] == std::byte{0}; --end)
          text[end - 1] = std::byte{' '};
      }
}

Result<std::vector<StoredForm>> stored_forms(const std::string& file, const std::vector<std::string>& paths) {
  const LibraryLock library;
  HEADRACE_ASSIGN(const Id opened, open_source(library, file));
  std::vector<StoredForm> forms;
  for (const std::string& path : paths) {
    const Id dataset(H5Dopen2(opened.get(), path.c_str(), H5P_DEFAULT));
    if (!dataset.ok())
      return Error(ErrorCode::kCorruptData, "libhdf5 cannot open it: " + last_library_error(library).text())
          .with_file(file)
          .with_field(path);
    const Id type(H5Dget_type(dataset.get())), space(H5Dget_space(dataset.get()));
    const ElementType element = describe_type(library, type.get());
    StoredForm form;
    form.as_decoded = element.path == ReadPath::kNative && element.record_bytes == element.stored_bytes &&
                      (element.swaps.empty() || element.swaps_whole()) && element.left_out.empty();
    form.reason = element.reason;
    if (form.reason.empty() && !element.left_out.empty())
      form.reason = "its records have " + element.left_out[0].reason;
    if (form.reason.empty() && !form.as_decoded) form.reason = "its records hold big-endian numbers";
    if (form.as_decoded && !element.swaps.empty()) form.swap_width = element.swaps[0].width;
    for (const TextRun& run : element.texts)
      if (run.spaces) form.spaces.push_back({run.offset, run.count, run.width});
    std::vector<hsize_t> now(32), most(32);
    const int rank = H5Sget_simple_extent_dims(space.get(), now.data(), most.data());
    for (int d = 0; d < rank; ++d)
      form.resizable |= now[static_cast<std::size_t>(d)] != most[static_cast<std::size_t>(d)];
    forms.push_back(std::move(form));
  }
  return forms;
}

Status compare_copied(const std::string& source, const std::string& path, const std::vector<std::string>& copied,
                      const std::vector<std::string>& remade) {
  const LibraryLock library;
  HEADRACE_ASSIGN(const Id from, open_source(library, source));
  HEADRACE_ASSIGN(const Id to, open_source(library, path));
  const auto compare = [&](const std::string& name, bool dataset) -> Status {
    HEADRACE_ASSIGN(const std::string differs, compare_object(library, from.get(), to.get(), name, dataset));
    if (differs.empty()) return {};
    return Error(ErrorCode::kCorruptData, fmt::format("the new file does not hold what {} holds: {}", source, differs))
        .with_file(path)
        .with_field(name)
        .with_stage("verify");
  };
  HEADRACE_TRY(compare("/", false));
  for (const std::string& name : remade) HEADRACE_TRY(compare(name, false));
  for (const std::string& name : copied) HEADRACE_TRY(compare(name, true));
  return {};
}

}  // namespace headrace::hdf5
