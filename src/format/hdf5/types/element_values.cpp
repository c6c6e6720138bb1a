#include "format/hdf5/types/element_values.h"

#include <algorithm>
#include <cstring>

namespace headrace::hdf5 {
namespace {

bool is_plain(hid_t type) {  // without pointers
  return H5Tdetect_class(type, H5T_VLEN) <= 0 && H5Tdetect_class(type, H5T_REFERENCE) <= 0 &&
         H5Tis_variable_str(type) <= 0;
}

/// True if a string of variable length is in it, at any depth: H5Tdetect_class() does not say.
bool holds_variable_text(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0;
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (int i = 0; i < members; ++i)
        if (holds_variable_text(Id(H5Tget_member_type(type, static_cast<unsigned>(i))).get())) return true;
      return false;
    }
    case H5T_ARRAY:
    case H5T_VLEN:
      return holds_variable_text(Id(H5Tget_super(type)).get());
    default:
      return false;
  }
}

std::size_t array_elements(hid_t type) {
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(H5Tget_array_ndims(type), 0)));
  H5Tget_array_dims2(type, extents.data());
  std::size_t count = 1;
  for (const hsize_t extent : extents) count *= extent;
  return count;
}

hvl_t sequence_at(const std::byte* element) {
  hvl_t out;
  std::memcpy(&out, element, sizeof out);
  return out;
}

const char* text_at(const std::byte* element) {
  const char* out = nullptr;
  std::memcpy(&out, element, sizeof out);
  return out;
}

}  // namespace

Values::Values(const LibraryLock&, hid_t stored, hid_t space) : type_(H5Tcopy(stored)), space_(H5Scopy(space)) {
  count_ = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_select_npoints(space), 0));
  element_bytes_ = H5Tget_size(type_.get());
  bytes_.resize(count_ * element_bytes_);
}

Values::~Values() {
  const LibraryLock library;
  if (count_ > 0 && (H5Tdetect_class(type_.get(), H5T_VLEN) > 0 || holds_variable_text(type_.get()))) {
    const hsize_t count = count_;  // the buffer is dense, whatever was selected
    const Id dense(H5Screate_simple(1, &count, nullptr));
    H5Dvlen_reclaim(type_.get(), dense.get(), H5P_DEFAULT, bytes_.data());
  }
  type_.reset();
  space_.reset();
}

bool holds_references(hid_t type) {
  return H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

Status visit_references(hid_t type, std::byte* element, const std::function<Status(hid_t, std::byte*)>& visit) {
  if (!holds_references(type)) return {};
  switch (H5Tget_class(type)) {
    case H5T_REFERENCE:
      return visit(type, element);
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (unsigned i = 0; i < static_cast<unsigned>(members); ++i) {
        const Id member(H5Tget_member_type(type, i));
        HEADRACE_TRY(visit_references(member.get(), element + H5Tget_member_offset(type, i), visit));
      }
      return {};
    }
    case H5T_ARRAY: {
      const Id inner(H5Tget_super(type));
      const std::size_t count = array_elements(type), bytes = H5Tget_size(inner.get());
      for (std::size_t i = 0; i < count; ++i) HEADRACE_TRY(visit_references(inner.get(), element + i * bytes, visit));
      return {};
    }
    case H5T_VLEN: {
      const Id inner(H5Tget_super(type));
      const hvl_t sequence = sequence_at(element);
      const std::size_t bytes = H5Tget_size(inner.get());
      for (std::size_t i = 0; i < sequence.len; ++i)
        HEADRACE_TRY(visit_references(inner.get(), static_cast<std::byte*>(sequence.p) + i * bytes, visit));
      return {};
    }
    default:
      return {};
  }
}

bool equal_elements(hid_t type, const std::byte* a, const std::byte* b,
                    const std::function<bool(hid_t, const std::byte*, const std::byte*)>& same_reference) {
  if (is_plain(type) && !holds_variable_text(type)) return std::memcmp(a, b, H5Tget_size(type)) == 0;
  switch (H5Tget_class(type)) {
    case H5T_REFERENCE:
      return same_reference(type, a, b);
    case H5T_STRING: {
      const char *const x = text_at(a), *const y = text_at(b);
      return x == nullptr || y == nullptr ? x == y : std::strcmp(x, y) == 0;
    }
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (unsigned i = 0; i < static_cast<unsigned>(members); ++i) {
        const Id member(H5Tget_member_type(type, i));
        const std::size_t at = H5Tget_member_offset(type, i);
        if (!equal_elements(member.get(), a + at, b + at, same_reference)) return false;
      }
      return true;
    }
    case H5T_ARRAY: {
      const Id inner(H5Tget_super(type));
      const std::size_t count = array_elements(type), bytes = H5Tget_size(inner.get());
      for (std::size_t i = 0; i < count; ++i)
        if (!equal_elements(inner.get(), a + i * bytes, b + i * bytes, same_reference)) return false;
      return true;
    }
    case H5T_VLEN: {
      const Id inner(H5Tget_super(type));
      const hvl_t x = sequence_at(a), y = sequence_at(b);
      const std::size_t bytes = H5Tget_size(inner.get());
      if (x.len != y.len) return false;
      for (std::size_t i = 0; i < x.len; ++i)
        if (!equal_elements(inner.get(), static_cast<const std::byte*>(x.p) + i * bytes,
                            static_cast<const std::byte*>(y.p) + i * bytes, same_reference))
          return false;
      return true;
    }
    default:
      return std::memcmp(a, b, H5Tget_size(type)) == 0;
  }
}

}  // namespace headrace::hdf5
