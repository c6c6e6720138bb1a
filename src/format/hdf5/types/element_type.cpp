#include "format/hdf5/types/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "format/hdf5/types/memory_type.h"
#include "format/hdf5/types/readable_type.h"

namespace headrace::hdf5 {
namespace {

constexpr int kDepthLimit = 16;
constexpr std::size_t kLeafLimit = 10'000, kRunLimit = 65'536;
constexpr std::uint64_t kRecordLimit = std::uint64_t{1} << 31;  // bytes an element

// What the walk over a type has found so far. A type can be read natively, after conversion by libhdf5, or not at all;
// the worst member decides.
struct Builder {
  std::vector<Leaf> leaves;
  std::vector<SwapRun> swaps;
  std::vector<TextRun> texts;
  std::vector<LeftOut> left_out;  // members that are passed over
  std::string convert, refuse;    // why libhdf5 must convert; why nothing can
  bool type_alone = false;        // `refuse` is about the type of one value: members beside it can be read

  void needs_library(std::string why) {
    if (convert.empty()) convert = std::move(why);
  }
  void refused(std::string why) {
    if (!refuse.empty()) return;
    refuse = std::move(why);
    type_alone = false;
  }
  void cannot_deliver(std::string why) {
    if (!refuse.empty()) return;
    refuse = std::move(why);
    type_alone = true;
  }
};

// Where in the element the walk is: array dimensions passed on the way down, and the member's path.
struct ElementPlace {
  std::string name;
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> dims, strides;
  int depth = 0;
};

std::string of_member(const ElementPlace& at) {
  return at.name.empty() ? "" : fmt::format(" (member '{}')", at.name);
}

void add_leaf(Builder& out, const ElementPlace& at, DType::Kind kind, std::uint64_t size) {
  if (out.leaves.size() >= kLeafLimit) return out.refused(fmt::format("more than {} members", kLeafLimit));
  if (size == 0 || size > std::numeric_limits<std::uint32_t>::max())
    return out.refused(fmt::format("elements of {} bytes{}", size, of_member(at)));
  out.leaves.push_back({{at.name, {kind, static_cast<std::uint32_t>(size)}, at.dims, at.offset}, at.strides});
}

// Touching values in an element: where the first is, and how many.
struct Run {
  std::uint64_t offset = 0, count = 0;
};

// Return where `per_element` values of `width` bytes lie at every entry of the array dimensions; nothing if there are
// more than `limit` runs of them.
std::vector<Run> runs_of(const ElementPlace& at, std::uint64_t width, std::uint64_t per_element, std::size_t limit) {
  std::uint64_t run = per_element, entry_bytes = per_element * width;
  std::size_t dims = at.dims.size();
  while (dims > 0 && at.strides[dims - 1] == entry_bytes) {  // touching entries: one longer run
    --dims;
    run *= at.dims[dims];
    entry_bytes *= at.dims[dims];
  }
  std::vector<std::uint64_t> offsets{at.offset};
  for (std::size_t d = 0; d < dims; ++d) {
    if (offsets.size() * at.dims[d] > limit) return {};
    std::vector<std::uint64_t> next;
    next.reserve(offsets.size() * at.dims[d]);
    for (const std::uint64_t o : offsets)
      for (std::uint64_t i = 0; i < at.dims[d]; ++i) next.push_back(o + i * at.strides[d]);
    offsets = std::move(next);
  }
  std::vector<Run> runs;
  for (const std::uint64_t o : offsets) runs.push_back({o, run});
  return runs;
}

void add_swaps(Builder& out, const ElementPlace& at, std::uint32_t width, std::uint64_t per_element) {
  if (width == 1) return;
  const std::vector<Run> runs = runs_of(at, width, per_element, kRunLimit - out.swaps.size());
  if (runs.empty()) return out.needs_library("big-endian records repeated too often inside an element");
  for (const Run& run : runs) out.swaps.push_back({run.offset, run.count, width});
}

void add_text(Builder& out, const ElementPlace& at, hid_t type) {
  const std::uint64_t size = H5Tget_size(type);
  add_leaf(out, at, DType::Kind::kBytes, size);
  const H5T_str_t padding = H5Tget_strpad(type);
  if (!out.refuse.empty() || (padding != H5T_STR_NULLTERM && padding != H5T_STR_SPACEPAD)) return;
  const std::vector<Run> runs = runs_of(at, size, 1, kRunLimit - out.texts.size());
  if (runs.empty()) return out.needs_library("text repeated too often inside an element");
  for (const Run& run : runs)
    out.texts.push_back({run.offset, run.count, static_cast<std::uint32_t>(size), padding == H5T_STR_SPACEPAD});
}

void add_number(Builder& out, const ElementPlace& at, DType::Kind kind, hid_t type, std::uint64_t parts = 1) {
  const std::uint64_t size = H5Tget_size(type);
  add_leaf(out, at, kind, size * parts);
  if (H5Tget_order(type) == H5T_ORDER_BE) add_swaps(out, at, static_cast<std::uint32_t>(size), parts);
}

void walk(Builder& out, hid_t type, const ElementPlace& at);

void walk_compound(Builder& out, hid_t type, const ElementPlace& at) {
  if (const Id part = complex_part(type); part.ok()) {
    if (const std::string why = why_convert(part.get()); !why.empty()) out.needs_library(why + of_member(at));
    return add_number(out, at, DType::Kind::kComplex, part.get(), 2);
  }
  const int members = H5Tget_nmembers(type);
  if (members <= 0) return out.refused("a record without members");
  const std::size_t leaves_before = out.leaves.size();
  std::string first_reason;
  for (int i = 0; i < members && out.refuse.empty(); ++i) {
    const std::size_t leaves = out.leaves.size(), swaps = out.swaps.size(), texts = out.texts.size();
    const std::size_t left_out = out.left_out.size();
    const std::string convert = out.convert;
    const auto index = static_cast<unsigned>(i);
    char* name = H5Tget_member_name(type, index);
    ElementPlace member = at;
    if (name != nullptr) member.name += (at.name.empty() ? "" : ".") + std::string(name);
    H5free_memory(name);
    member.offset += H5Tget_member_offset(type, index);
    member.depth = at.depth + 1;
    const Id member_type(H5Tget_member_type(type, index));
    walk(out, member_type.get(), member);
    if (out.refuse.empty() || !out.type_alone) continue;
    out.leaves.resize(leaves);
    out.swaps.resize(swaps);
    out.texts.resize(texts);
    out.left_out.resize(left_out);
    out.convert = convert;
    if (first_reason.empty()) first_reason = out.refuse;
    std::string remedy = remedy_for(out.refuse);
    out.left_out.push_back({member.name, std::exchange(out.refuse, {}), std::move(remedy)});
  }
  if (out.refuse.empty() && out.leaves.size() == leaves_before) out.cannot_deliver(std::move(first_reason));
}

void walk_array(Builder& out, hid_t type, const ElementPlace& at) {
  const Id base(H5Tget_super(type));
  const int rank = H5Tget_array_ndims(type);
  if (!base.ok() || rank < 1 || rank > H5S_MAX_RANK) return out.refused("an array type without dimensions");
  hsize_t dims[H5S_MAX_RANK] = {};
  H5Tget_array_dims2(type, dims);
  ElementPlace inner = at;
  inner.depth = at.depth + 1;
  const std::size_t first = inner.strides.size();
  for (int d = 0; d < rank; ++d) inner.dims.push_back(dims[d]);
  inner.strides.resize(inner.dims.size());
  std::uint64_t stride = H5Tget_size(base.get());
  for (std::size_t d = inner.dims.size(); d-- > first;) {
    inner.strides[d] = stride;
    if (__builtin_mul_overflow(stride, inner.dims[d], &stride)) return out.refused("an array type of absurd size");
  }
  if (stride != H5Tget_size(type)) return out.refused("an array type whose size contradicts its dimensions");
  walk(out, base.get(), inner);
}

void walk(Builder& out, hid_t type, const ElementPlace& at) {
  if (type < 0 || at.depth > kDepthLimit) return out.refused("a datatype nested too deeply or damaged");
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_COMPOUND) return walk_compound(out, type, at);
  if (kind == H5T_ARRAY) return walk_array(out, type, at);
  if (std::string why = why_not_delivered(type, of_member(at)); !why.empty()) return out.cannot_deliver(std::move(why));
  if (kind == H5T_STRING) return add_text(out, at, type);
#if H5_VERSION_GE(2, 0, 0)
  if (kind == H5T_COMPLEX) {
    const Id part(H5Tget_super(type));
    return add_number(out, at, DType::Kind::kComplex, part.get(), 2);
  }
#endif
  if (const std::string why = why_convert(type); !why.empty()) out.needs_library(why + of_member(at));
  return add_number(out, at, number_kind(type), type);
}

ElementType finish(Builder found, hid_t type) {
  ElementType out;
  out.record_bytes = out.stored_bytes = H5Tget_size(type);
  const bool is_compound = H5Tget_class(type) == H5T_COMPOUND;
  out.is_record = is_compound && !(found.leaves.size() == 1 && found.leaves[0].column.name.empty());
  if (out.record_bytes == 0 || out.record_bytes > kRecordLimit)
    found.refused(fmt::format("elements of {} bytes", out.record_bytes));
  for (const Leaf& leaf : found.leaves) {
    std::uint64_t end = leaf.column.offset + leaf.column.dtype.itemsize;
    for (std::size_t d = 0; d < leaf.inner_strides_bytes.size(); ++d)
      if (leaf.column.inner_shape[d] > 0) end += (leaf.column.inner_shape[d] - 1) * leaf.inner_strides_bytes[d];
    if (end > out.record_bytes) found.refused("members that lie outside their record");
  }
  if (!found.refuse.empty()) {
    out.path = ReadPath::kUnsupported;
    out.reason = std::move(found.refuse);
  } else if (!found.convert.empty()) {
    out.path = ReadPath::kConverted;
    out.reason = std::move(found.convert);
  }
  out.leaves = std::move(found.leaves);
  out.swaps = std::move(found.swaps);
  out.texts = std::move(found.texts);
  return out;
}

}  // namespace

ElementType describe_type(const LibraryLock&, hid_t given) {
  Builder stored;
  walk(stored, given, {});
  Id readable;  // what of the records is delivered, as it lies in the file
  hid_t type = given;
  std::vector<LeftOut> left_out = std::move(stored.left_out);
  if (stored.refuse.empty() && !left_out.empty()) {
    readable = readable_type(given);
    stored = {};
    walk(stored, readable.get(), {});
    if (!stored.left_out.empty()) stored.refused("records that cannot be described without some members");
    type = readable.get();
  }
  ElementType out = finish(std::move(stored), type);
  out.left_out = left_out;
  if (out.path != ReadPath::kConverted) return out;
  // libhdf5 converts to a type we can describe in turn: that is what decode() leaves.
  Id memory = memory_type(type);
  Id stored_copy(H5Tcopy(type));  // the dataset's own may be a named type, which keeps the file open
  Builder converted;
  if (memory.ok()) walk(converted, memory.get(), {});
  H5T_cdata_t* unused = nullptr;
  if (!memory.ok() || !converted.refuse.empty() || !converted.convert.empty() || !stored_copy.ok() ||
      H5Tfind(stored_copy.get(), memory.get(), &unused) == nullptr) {
    out.path = ReadPath::kUnsupported;
    out.reason += ", which cannot be converted";
    return out;
  }
  std::string reason = std::move(out.reason);
  out = finish(std::move(converted), memory.get());
  out.stored_bytes = H5Tget_size(type);
  out.left_out = std::move(left_out);
  out.path = ReadPath::kConverted;
  out.reason = std::move(reason) + ": converted by libhdf5";
  out.memory_type = std::move(memory);
  out.stored_type = std::move(stored_copy);
  return out;
}

}  // namespace headrace::hdf5
