#include "format/hdf5/remembered.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "base/threads/fork_safe_mutex.h"
#include "base/threads/made_once.h"
#include "catalog/array_info_bytes.h"
#include "catalog/attribute_bytes.h"
#include "format/hdf5/arrays/chunked_array.h"
#include "format/hdf5/arrays/plain_arrays.h"
#include "format/hdf5/hdf5_reader.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();

/// What decides how arrays are read besides the file: facts of another build or library are of no use.
std::string reading_ability() {
  std::string text = "hdf5, facts 7, ";
  {
    const LibraryLock library;
    text += library_version(library);
  }
  if (plugins_allowed()) text += " plugins";
  return text + " " + decodable_filters();
}

const std::string& this_ability() {
  static MadeOnce<std::string> text;
  return text.get(&reading_ability);
}

void pack_bytes(std::span<const std::byte> bytes, PackedWriter& out) {
  out.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<std::byte> unpack_bytes(PackedReader& in) {
  const auto text = in.text();
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

void pack_superblock(const Superblock& s, PackedWriter& out) {
  out.number(s.at);
  out.number(s.version);
  out.number(s.end_bytes);
  out.number(s.address_bytes);
  out.number(s.length_bytes);
}

Superblock unpack_superblock(PackedReader& in) {
  Superblock s;
  s.at = in.number();
  s.version = static_cast<unsigned>(in.number_up_to(3));
  s.understood = true;
  s.end_bytes = in.number();
  s.address_bytes = static_cast<unsigned>(in.number_up_to(8));
  s.length_bytes = static_cast<unsigned>(in.number_up_to(8));
  if (s.address_bytes == 0 || s.length_bytes == 0) in.fail();
  return s;
}

void pack_element(const ElementType& e, PackedWriter& out) {
  out.number(e.record_bytes);
  out.number(e.stored_bytes);
  out.flag(e.is_record);
  out.number(e.leaves.size());
  for (const Leaf& leaf : e.leaves) {
    pack(leaf.column, out);
    out.numbers(leaf.inner_strides_bytes);
  }
  out.number(e.swaps.size());
  for (const SwapRun& run : e.swaps) {
    out.number(run.offset);
    out.number(run.count);
    out.number(run.width);
  }
  out.number(e.texts.size());
  for (const TextRun& run : e.texts) {
    out.number(run.offset);
    out.number(run.count);
    out.number(run.width);
    out.flag(run.spaces);
  }
}

ElementType unpack_element(PackedReader& in) {
  ElementType e;
  e.record_bytes = in.number();
  e.stored_bytes = in.number();
  e.is_record = in.flag();
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    Column column = unpack_column(in);
    e.leaves.push_back({std::move(column), in.numbers()});
  }
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    SwapRun& run = e.swaps.emplace_back();
    run.offset = in.number();
    run.count = in.number();
    run.width = static_cast<std::uint32_t>(in.number_up_to(kMost32));
  }
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    TextRun& run = e.texts.emplace_back();
    run.offset = in.number();
    run.count = in.number();
    run.width = static_cast<std::uint32_t>(in.number_up_to(kMost32));
    run.spaces = in.flag();
    if (run.width == 0) in.fail();
  }
  return e;
}

DatasetInfo unpack_info(ArrayInfo array, PackedReader& in) {
  DatasetInfo info;
  info.array = std::move(array);
  info.header_address = in.number();
  info.element = unpack_element(in);
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    StoredFilter& filter = info.filters.emplace_back();
    filter.id = static_cast<std::uint32_t>(in.number_up_to(kMost32));
    filter.name = in.text();
    for (std::size_t k = in.count(); in.ok() && k > 0; --k)
      filter.client_values.push_back(static_cast<std::uint32_t>(in.number_up_to(kMost32)));
  }
  info.edges_unfiltered = in.flag();
  info.row_bytes = in.number();
  info.chunk_bytes = in.number();
  info.stored_form.chunk_bytes = in.number();
  info.stored_form.element_bytes = in.number();
  info.grid = in.numbers();
  if (info.grid.size() != info.array.chunk_shape.size()) in.fail();
  return info;
}

/// An array from what remember() wrote; null if that makes no sense.
std::shared_ptr<ArrayReader> remembered_array(std::shared_ptr<FileState> state, const ArrayInfo& array,
                                              std::string_view bytes) {
  PackedReader in(bytes);
  const auto kind = static_cast<RememberedKind>(in.number_up_to(static_cast<std::uint64_t>(RememberedKind::kMemory)));
  DatasetInfo info = unpack_info(array, in);
  std::uint64_t address = 0;
  std::vector<std::byte> values;  // the fill element, or all rows
  if (kind == RememberedKind::kContiguous)
    address = in.number();
  else
    values = unpack_bytes(in);
  if (!in.complete()) return nullptr;
  switch (kind) {
    case RememberedKind::kContiguous:
      return std::make_shared<ContiguousArray>(std::move(state), std::move(info), address);
    case RememberedKind::kFill:
      return std::make_shared<FillArray>(std::move(state), std::move(info), std::move(values));
    case RememberedKind::kMemory:
      if (values.size() != info.row_bytes * info.array.rows()) return nullptr;
      return std::make_shared<MemoryArray>(std::move(state), std::move(info), std::move(values));
    case RememberedKind::kChunked:
      break;
  }
  auto chain = CodecChain::make(codecs_of(info.filters), info.stored_form);
  if (!chain.ok()) return nullptr;
  return std::make_shared<ChunkedArray>(std::move(state), std::move(info), std::move(*chain), std::move(values));
}

class RememberedReader final : public FormatReader {
 public:
  RememberedReader(std::shared_ptr<FileState> state, std::vector<ArrayInfo> arrays, std::vector<LeftOut> passed_over,
                   Attributes attributes, std::map<std::string, std::string, std::less<>> how)
      : state_(std::move(state)),
        arrays_(std::move(arrays)),
        passed_over_(std::move(passed_over)),
        attributes_(std::move(attributes)),
        how_(std::move(how)) {}

  [[nodiscard]] std::string format_name() const override { return format_name_of(*state_); }
  [[nodiscard]] const std::string& path() const override { return state_->path; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const std::vector<LeftOut>& passed_over() const override { return passed_over_; }
  [[nodiscard]] const Attributes& attributes() const override { return attributes_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *state_->driver->file; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& path) const override {
    if (const auto how = how_.find(path); how != how_.end()) {
      const auto info = std::ranges::lower_bound(arrays_, path, {}, &ArrayInfo::path);
      if (info != arrays_.end() && info->path == path)
        if (auto array = remembered_array(state_, *info, how->second)) return array;
    }
    HEADRACE_ASSIGN(const FormatReader* const reader, really_open());
    return reader->open_array(path);
  }

  [[nodiscard]] std::string facts(std::span<const std::shared_ptr<ArrayReader>> opened) const override {
    const std::lock_guard lock(mutex_);
    return real_ ? real_->facts(opened) : std::string();
  }

 private:
  /// Open the file after all, for an array that was not needed before.
  Result<const FormatReader*> really_open() const {
    const std::lock_guard lock(mutex_);
    if (!real_) {
      auto opened = open_hdf5(state_->driver->file, state_->path);
      if (!opened.ok()) return std::move(opened.error().with_file(state_->path).with_stage("open"));
      real_ = std::move(*opened);
    }
    return real_.get();
  }

  std::shared_ptr<FileState> state_;
  std::vector<ArrayInfo> arrays_;  // sorted by path
  std::vector<LeftOut> passed_over_;
  Attributes attributes_;
  std::map<std::string, std::string, std::less<>> how_;  // path → what remember() wrote
  mutable ForkSafeMutex mutex_;
  mutable std::shared_ptr<FormatReader> real_;
};

}  // namespace

void remember_array(RememberedKind kind, const DatasetInfo& info, PackedWriter& out) {
  out.number(static_cast<std::uint64_t>(kind));
  out.number(info.header_address);
  pack_element(info.element, out);
  out.number(info.filters.size());
  for (const StoredFilter& filter : info.filters) {
    out.number(filter.id);
    out.text(filter.name);
    out.number(filter.client_values.size());
    for (const std::uint32_t value : filter.client_values) out.number(value);
  }
  out.flag(info.edges_unfiltered);
  out.number(info.row_bytes);
  out.number(info.chunk_bytes);
  out.number(info.stored_form.chunk_bytes);
  out.number(info.stored_form.element_bytes);
  out.numbers(info.grid);
}

bool ChunkedArray::remember(PackedWriter& out) const {
  if (info_.element.memory_type.ok()) return false;
  remember_array(RememberedKind::kChunked, info_, out);
  pack_bytes(fill_element_, out);
  return true;
}

bool ContiguousArray::remember(PackedWriter& out) const {
  if (info_.element.memory_type.ok()) return false;
  remember_array(RememberedKind::kContiguous, info_, out);
  out.number(address_);
  return true;
}

bool FillArray::remember(PackedWriter& out) const {
  remember_array(RememberedKind::kFill, info_, out);
  pack_bytes(fill_element_, out);
  return true;
}

bool MemoryArray::remember(PackedWriter& out) const {
  remember_array(RememberedKind::kMemory, info_, out);
  pack_bytes(bytes_, out);
  return true;
}

std::string facts_of(const FileState& state, const std::vector<ArrayInfo>& arrays,
                     const std::vector<LeftOut>& passed_over, const Attributes& attributes,
                     std::span<const std::shared_ptr<ArrayReader>> opened) {
  for (const ArrayInfo& array : arrays)
    if (array.layout == Layout::kVirtual || array.layout == Layout::kExternal) return {};
  PackedWriter out;
  out.text(this_ability());
  pack_superblock(state.superblock, out);
  out.number(arrays.size());
  for (const ArrayInfo& array : arrays) pack(array, out);
  pack(passed_over, out);
  pack(attributes, out);
  std::map<std::string, std::string> how;
  for (const auto& reader : opened) {
    PackedWriter one;
    const auto* const array = dynamic_cast<const ArrayBase*>(reader.get());
    if (array != nullptr && array->remember(one)) how[array->info().path] = one.take();
  }
  out.number(how.size());
  for (const auto& [path, bytes] : how) {
    out.text(path);
    out.text(bytes);
  }
  return out.take();
}

std::shared_ptr<FormatReader> open_remembered(std::shared_ptr<RandomAccessFile> file, const std::string& path,
                                              std::string_view facts) {
  PackedReader in(facts);
  if (in.text() != this_ability()) return nullptr;
  auto state = std::make_shared<FileState>();
  state->driver->file = std::move(file);
  state->path = path;
  state->superblock = unpack_superblock(in);
  std::vector<ArrayInfo> arrays;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) arrays.push_back(unpack_array_info(in));
  std::vector<LeftOut> passed_over = unpack_left_out(in);
  Attributes attributes = unpack_attributes(in);
  std::map<std::string, std::string, std::less<>> how;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string name(in.text());
    how.emplace(name, in.text());
  }
  if (!in.complete() || !std::ranges::is_sorted(arrays, {}, &ArrayInfo::path)) return nullptr;
  return std::make_shared<RememberedReader>(std::move(state), std::move(arrays), std::move(passed_over),
                                            std::move(attributes), std::move(how));
}

}  // namespace headrace::hdf5
