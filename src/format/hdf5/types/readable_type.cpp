#include "format/hdf5/types/readable_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "format/hdf5/types/memory_type.h"

namespace headrace::hdf5 {
namespace {

constexpr int kNestingLimit = 16;               // as of the description
constexpr std::uint64_t kVariableIdBytes = 16;  // length, address of the heap, index

bool is_variable_text(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

std::uint64_t size_in_file(hid_t type, int depth);

/// Where members lie in the file, by their index: libhdf5 moved those behind a text of variable length when it made the
/// text a pointer (H5T_set_loc), in the order of their offsets.
struct StoredMembers {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
};

StoredMembers members_in_file(hid_t type, int depth) {
  const int members = std::max(H5Tget_nmembers(type), 0);
  StoredMembers out;
  out.offsets.resize(static_cast<std::size_t>(members));
  std::vector<unsigned> order(out.offsets.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](unsigned i) { return H5Tget_member_offset(type, i); });
  std::uint64_t grown = 0;
  for (const unsigned i : order) {
    const Id member(H5Tget_member_type(type, i));
    out.offsets[i] = H5Tget_member_offset(type, i) + grown;
    grown += size_in_file(member.get(), depth + 1) - H5Tget_size(member.get());
  }
  out.bytes = H5Tget_size(type) + grown;
  return out;
}

/// Return the extents of an array type; empty if it has none.
std::vector<hsize_t> extents_of(hid_t array) {
  const int rank = H5Tget_array_ndims(array);
  if (rank < 1 || rank > H5S_MAX_RANK) return {};
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Tget_array_dims2(array, extents.data());
  return extents;
}

std::uint64_t size_in_file(hid_t type, int depth) {
  const std::uint64_t size = H5Tget_size(type);
  if (depth > kNestingLimit) return size;
  if (is_variable_text(type)) return kVariableIdBytes;
  if (H5Tget_class(type) == H5T_COMPOUND) return members_in_file(type, depth).bytes;
  if (H5Tget_class(type) != H5T_ARRAY) return size;
  const Id base(H5Tget_super(type));
  const std::uint64_t base_bytes = H5Tget_size(base.get());
  return base_bytes == 0 ? size : size / base_bytes * size_in_file(base.get(), depth + 1);
}

Id readable(hid_t type, int depth) {
  if (depth > kNestingLimit) return {};
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND: {
      if (complex_part(type).ok()) return Id(H5Tcopy(type));
      const StoredMembers stored = members_in_file(type, depth);
      Id out(H5Tcreate(H5T_COMPOUND, stored.bytes));
      bool any = false;
      for (std::size_t i = 0; out.ok() && i < stored.offsets.size(); ++i) {
        const auto index = static_cast<unsigned>(i);
        const Id member(H5Tget_member_type(type, index));
        const Id part = readable(member.get(), depth + 1);
        if (!part.ok()) continue;
        char* const name = H5Tget_member_name(type, index);
        const bool inserted = name != nullptr && H5Tinsert(out.get(), name, stored.offsets[i], part.get()) >= 0;
        H5free_memory(name);
        if (!inserted) return {};
        any = true;
      }
      return any ? std::move(out) : Id();
    }
    case H5T_ARRAY: {
      const Id base(H5Tget_super(type));
      const Id part = readable(base.get(), depth + 1);
      const std::vector<hsize_t> extents = extents_of(type);
      if (!part.ok() || extents.empty()) return {};
      return Id(H5Tarray_create2(part.get(), static_cast<unsigned>(extents.size()), extents.data()));
    }
    default:
      return why_not_delivered(type, "").empty() ? Id(H5Tcopy(type)) : Id();
  }
}

}  // namespace

std::string why_not_delivered(hid_t type, const std::string& member) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD:
    case H5T_FLOAT:
    case H5T_ENUM:
      if (convertible(type)) return {};
      return fmt::format("numbers of {} bytes which libhdf5 cannot convert{}", H5Tget_size(type), member);
    case H5T_STRING:
      return is_variable_text(type) ? "variable-length strings" + member + ": rows have no fixed size" : std::string();
    case H5T_VLEN:
      return "variable-length sequences" + member + ": rows have no fixed size";
    case H5T_REFERENCE:
      return "references" + member + ": they point into the file";
    case H5T_OPAQUE: {
      char* const tag = H5Tget_tag(type);
      std::string why = fmt::format("opaque bytes (tag '{}'){}: their meaning is private to their writer",
                                    tag != nullptr ? tag : "", member);
      H5free_memory(tag);
      return why;
    }
    case H5T_TIME:
      return "HDF5 time values" + member + ", which the library itself cannot convert";
#if H5_VERSION_GE(2, 0, 0)
    case H5T_COMPLEX: {
      const Id part(H5Tget_super(type));
      if (why_convert(part.get()).empty() && H5Tget_size(part.get()) >= 4) return {};
      return "complex numbers of an unusual kind" + member;
    }
#endif
    default:
      return "an unknown datatype class" + member;
  }
}

std::string remedy_for(std::string_view reason) {
  const auto is = [&](std::string_view what) { return reason.starts_with(what); };
  if (is("variable-length strings"))
    return "Leave it out of fields=, or rewrite it as fixed-size text (dtype 'S16') or as class numbers.";
  if (is("variable-length sequences"))
    return "Leave it out of fields=, or rewrite it as an array that is padded to one length, with the lengths in an "
           "array "
           "of their own.";
  if (is("references")) return "Leave it out of fields=, and name the arrays that it points to instead.";
  if (is("opaque bytes"))
    return "Leave it out of fields=, or rewrite it as numbers (NumPy's datetime64 with .view('i8')).";
  if (is("HDF5 time values")) return "Leave it out of fields=, or rewrite it as whole numbers.";
  return "Leave it out of fields=.";
}

std::uint64_t stored_size(hid_t type) {
  return size_in_file(type, 0);
}

Id readable_type(hid_t type) {
  return H5Tget_class(type) == H5T_COMPOUND ? readable(type, 0) : Id();
}

}  // namespace headrace::hdf5
