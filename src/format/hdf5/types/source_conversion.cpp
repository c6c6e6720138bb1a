#include "format/hdf5/types/source_conversion.h"

#include <algorithm>
#include <vector>

namespace headrace::hdf5 {
namespace {

constexpr int kConversionDepthLimit = 16;  // as of the description

bool same_leaves(const ElementType& a, const ElementType& b) {
  return a.record_bytes == b.record_bytes && a.is_record == b.is_record &&
         std::ranges::equal(a.leaves, b.leaves, [](const Leaf& x, const Leaf& y) {
           return x.column.name == y.column.name && x.column.dtype == y.column.dtype &&
                  x.column.inner_shape == y.column.inner_shape && x.column.offset == y.column.offset &&
                  x.inner_strides_bytes == y.inner_strides_bytes;
         });
}

Id native_order(hid_t type, int depth = 0);

/// The same names, their values in native order: libhdf5 changes the order of no enum.
Id native_enum(hid_t type) {
  const Id stored(H5Tget_super(type));
  const Id native = native_order(stored.get());
  Id out(native.ok() ? H5Tenum_create(native.get()) : -1);
  const int members = H5Tget_nmembers(type);
  std::vector<std::byte> value(2 * std::max<std::size_t>(H5Tget_size(type), 1));
  for (int i = 0; out.ok() && i < members; ++i) {
    char* const name = H5Tget_member_name(type, static_cast<unsigned>(i));
    const bool ok = name != nullptr && H5Tget_member_value(type, static_cast<unsigned>(i), value.data()) >= 0 &&
                    H5Tconvert(stored.get(), native.get(), 1, value.data(), nullptr, H5P_DEFAULT) >= 0 &&
                    H5Tenum_insert(out.get(), name, value.data()) >= 0;
    H5free_memory(name);
    if (!ok) return {};
  }
  return out;
}

/// The type with its numbers in native order and its text padded with NULs, members where they are. Not ok() if there
/// is none.
Id native_order(hid_t type, int depth) {
  if (depth > kConversionDepthLimit) return {};
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_BITFIELD: {
      Id out(H5Tcopy(type));
      return H5Tset_order(out.get(), H5Tget_order(H5T_NATIVE_INT)) < 0 ? Id() : std::move(out);
    }
    case H5T_STRING: {
      Id out(H5Tcopy(type));
      return H5Tset_strpad(out.get(), H5T_STR_NULLPAD) < 0 ? Id() : std::move(out);
    }
    case H5T_OPAQUE:
      return Id(H5Tcopy(type));
    case H5T_ENUM:
      return native_enum(type);
    case H5T_ARRAY: {
      const Id super(H5Tget_super(type));
      const Id element = native_order(super.get(), depth + 1);
      std::vector<hsize_t> dims(H5S_MAX_RANK);
      const int rank = H5Tget_array_dims2(type, dims.data());
      return element.ok() && rank > 0 ? Id(H5Tarray_create2(element.get(), static_cast<unsigned>(rank), dims.data()))
                                      : Id();
    }
    case H5T_COMPOUND: {
      Id out(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)));
      for (int i = 0; out.ok() && i < H5Tget_nmembers(type); ++i) {
        const auto member = static_cast<unsigned>(i);
        const Id stored(H5Tget_member_type(type, member));
        const Id native = native_order(stored.get(), depth + 1);
        char* const name = H5Tget_member_name(type, member);
        const bool ok = native.ok() && name != nullptr &&
                        H5Tinsert(out.get(), name, H5Tget_member_offset(type, member), native.get()) >= 0;
        H5free_memory(name);
        if (!ok) return {};
      }
      return out;
    }
    default:
      return {};
  }
}

Id decoded_type(hid_t type, const ElementType& element) {
  Id out = native_order(element.memory_type.ok() ? element.memory_type.get() : type);
  return out.ok() && H5Tget_size(out.get()) == element.record_bytes ? std::move(out) : Id();
}

/// True if two types of equal members may mean different things: enums by their names, text by its character set.
bool has_meanings(hid_t type) {
  return H5Tdetect_class(type, H5T_ENUM) > 0 || H5Tdetect_class(type, H5T_STRING) > 0 ||
         H5Tdetect_class(type, H5T_OPAQUE) > 0;
}

}  // namespace

Result<std::shared_ptr<const SourceConversion>> SourceConversion::between(const LibraryLock&, hid_t from,
                                                                          const ElementType& from_element, hid_t to,
                                                                          const ElementType& to_element) {
  const bool same = same_leaves(from_element, to_element);
  if (same && !has_meanings(from) && !has_meanings(to)) return std::shared_ptr<const SourceConversion>();
  Id decoded_from = decoded_type(from, from_element), decoded_to = decoded_type(to, to_element);
  if (same && (H5Tequal(from, to) > 0 || H5Tequal(decoded_from.get(), decoded_to.get()) > 0))
    return std::shared_ptr<const SourceConversion>();
  H5T_cdata_t* way = nullptr;
  if (!decoded_from.ok() || !decoded_to.ok() || H5Tfind(decoded_from.get(), decoded_to.get(), &way) == nullptr)
    return Error(ErrorCode::kUnsupported, "has a type that cannot be converted to the virtual dataset's");
  return std::shared_ptr<const SourceConversion>(std::make_shared<SourceConversion>(
      std::move(decoded_from), from_element.record_bytes, std::move(decoded_to), to_element.record_bytes));
}

SourceConversion::~SourceConversion() {
  const LibraryLock library;
  from_.reset();
  to_.reset();
}

}  // namespace headrace::hdf5
