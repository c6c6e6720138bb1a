#include "format/hdf5/writing/object_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "format/hdf5/types/element_values.h"
#include "format/hdf5/walk.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kMostPointingBytes = std::uint64_t{1} << 30;  // of a dataset of references: read whole

struct CopiedObject {
  ObjectKey key{};
  H5O_type_t type = H5O_TYPE_UNKNOWN;
};

Result<CopiedObject> object_named(const LibraryLock&, hid_t group, const char* name) {
  CopiedObject out;
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  const bool found = H5Oget_info_by_name3(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0;
  if (found) std::memcpy(out.key.data(), &info.token, sizeof info.token);
#else
  H5O_info_t info;
  const bool found = H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0;
  if (found) std::memcpy(out.key.data(), &info.addr, sizeof info.addr);
#endif
  if (!found) return Error(ErrorCode::kCorruptData, fmt::format("libhdf5 cannot read the object '{}'", name));
  out.type = info.type;
  return out;
}

struct CopiedLink {
  std::string name;
  H5L_type_t type;
  H5T_cset_t characters;
  std::size_t value_bytes;
};

herr_t collect_copied_link(hid_t, const char* name, const H5L_info_t* info, void* into) {
  try {  // nothing may unwind through C
    const bool hard = info->type == H5L_TYPE_HARD;
    static_cast<std::vector<CopiedLink>*>(into)->push_back({name, info->type, info->cset, hard ? 0 : info->u.val_size});
  } catch (...) {
    return -1;
  }
  return 0;
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* into) {
  try {
    static_cast<std::vector<std::string>*>(into)->push_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

/// Names of an object's attributes, in the order they were made where the file remembers it.
Result<std::vector<std::string>> attributes_of(const LibraryLock& library, hid_t object) {
  std::vector<std::string> names;
  hsize_t at = 0;
  if (H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, collect_attribute, &names) >= 0) return names;
  names.clear();
  at = 0;
  if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, collect_attribute, &names) >= 0) return names;
  return Error(ErrorCode::kCorruptData, "libhdf5 cannot list the attributes: " + last_library_error(library).text());
}

Error attribute_error(const LibraryLock& library, const std::string& path, const std::string& name, const char* doing) {
  return Error(ErrorCode::kCorruptData,
               fmt::format("attribute '{}': libhdf5 cannot {}: {}", name, doing, last_library_error(library).text()))
      .with_field(path);
}

Result<std::string> path_of_reference(hid_t file, hid_t type, const std::byte* reference) {
  const bool region = H5Tequal(type, H5T_STD_REF_DSETREG) > 0;
  const H5R_type_t kind = region ? H5R_DATASET_REGION : H5R_OBJECT;
  if (!region && H5Tequal(type, H5T_STD_REF_OBJ) <= 0)
    return Error(ErrorCode::kUnsupported, "references of the kind that HDF5 1.12 brought are not copied");
  const std::size_t size = H5Tget_size(type);
  if (std::all_of(reference, reference + size, [](std::byte b) { return b == std::byte{0}; })) return std::string();
  const ssize_t length = H5Rget_name(file, kind, reference, nullptr, 0);
  if (length <= 0) return Error(ErrorCode::kCorruptData, "a reference leads to nothing");
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  H5Rget_name(file, kind, reference, name.data(), name.size());
  name.resize(static_cast<std::size_t>(length));
  return name;
}

/// Point a reference of the source to the same path, and the same region, of the new file.
Status translate(hid_t from, hid_t to, hid_t type, std::byte* reference) {
  HEADRACE_ASSIGN(const std::string path, path_of_reference(from, type, reference));
  if (path.empty()) return {};
  const bool region = H5Tequal(type, H5T_STD_REF_DSETREG) > 0;
  const Id space(region ? H5Rget_region(from, H5R_DATASET_REGION, reference) : H5I_INVALID_HID);
  std::memset(reference, 0, H5Tget_size(type));
  if (H5Rcreate(reference, to, path.c_str(), region ? H5R_DATASET_REGION : H5R_OBJECT, space.get()) >= 0) return {};
  return Error(ErrorCode::kUnsupported, fmt::format("a reference to {} cannot be made in the new file", path));
}

class Copy {
 public:
  Copy(const LibraryLock& library, hid_t from, hid_t to, const MakeDataset& make)
      : library_(library),
        from_(from),
        to_(to),
        make_(make),
        names_(H5Pcreate(H5P_LINK_CREATE)),
        object_list_(H5Pcreate(H5P_OBJECT_COPY)) {
    H5Pset_copy_object(object_list_.get(), H5O_COPY_WITHOUT_ATTR_FLAG);
  }

  Result<CopiedObjects> run(const std::vector<std::string>& remade) {
    for (const std::string& path : remade) {
      HEADRACE_ASSIGN(const CopiedObject object, object_named(library_, from_, path.c_str()));
      remade_.emplace(object.key, path);
    }
    HEADRACE_ASSIGN(const CopiedObject root, object_named(library_, from_, "/"));
    copied_.emplace(root.key, "/");
    bearers_.push_back("/");
    groups_.push_back("/");
    while (!groups_.empty()) {
      const std::string path = std::move(groups_.front());
      groups_.pop_front();
      HEADRACE_TRY(copy_group(path));
    }
    // All objects are there now, so that references can be made.
    for (const std::string& path : bearers_) HEADRACE_TRY(copy_attributes(path));
    for (const std::string& path : pointing_) {
      Status pointed = point_dataset(path);
      if (!pointed.ok()) return std::move(pointed.error().with_field(path));
    }
    return std::move(out_);
  }

 private:
  static std::string child_of(const std::string& path, const std::string& name) {
    return path == "/" ? name : path + "/" + name;
  }

  Status copy_group(const std::string& path) {
    const Id source(H5Gopen2(from_, path.c_str(), H5P_DEFAULT)), target(H5Gopen2(to_, path.c_str(), H5P_DEFAULT));
    if (!source.ok() || !target.ok()) return failure(path, "open the group");
    std::vector<CopiedLink> links;
    const Id list(H5Gget_create_plist(source.get()));
    unsigned order = 0;
    H5Pget_link_creation_order(list.get(), &order);
    const H5_index_t index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Literate(source.get(), index, H5_ITER_INC, nullptr, collect_copied_link, &links) < 0)
      return failure(path, "list the group");
    for (const CopiedLink& link : links)
      HEADRACE_TRY(copy_link(source.get(), target.get(), link, child_of(path, link.name)));
    return {};
  }

  Status copy_link(hid_t source, hid_t target, const CopiedLink& link, const std::string& path) {
    H5Pset_char_encoding(names_.get(), link.characters);
    if (link.type == H5L_TYPE_HARD) return copy_object(source, target, link.name, path);
    std::vector<char> value(link.value_bytes + 1, '\0');
    if (H5Lget_val(source, link.name.c_str(), value.data(), link.value_bytes, H5P_DEFAULT) < 0)
      return failure(path, "read the link");
    if (link.type == H5L_TYPE_SOFT)
      return done(H5Lcreate_soft(value.data(), target, link.name.c_str(), names_.get(), H5P_DEFAULT), path);
    if (link.type != H5L_TYPE_EXTERNAL)
      return Error(ErrorCode::kUnsupported, "a user-defined link cannot be copied").with_field(path);
    const char *file = nullptr, *object = nullptr;
    unsigned flags = 0;
    if (H5Lunpack_elink_val(value.data(), link.value_bytes, &flags, &file, &object) < 0)
      return failure(path, "read the link");
    out_.notes.push_back(
        fmt::format("{} is a link into the file {}: it is copied as it stands, and so is that name", path, file));
    return done(H5Lcreate_external(file, object, target, link.name.c_str(), names_.get(), H5P_DEFAULT), path);
  }

  Status copy_object(hid_t source, hid_t target, const std::string& name, const std::string& path) {
    HEADRACE_ASSIGN(const CopiedObject object, object_named(library_, source, name.c_str()));
    if (const auto known = copied_.find(object.key); known != copied_.end())
      return done(H5Lcreate_hard(to_, known->second.c_str(), target, name.c_str(), names_.get(), H5P_DEFAULT), path);
    copied_.emplace(object.key, path);
    if (object.type == H5O_TYPE_GROUP) {
      const Id opened(H5Gopen2(source, name.c_str(), H5P_DEFAULT));
      const Id list = group_list_like(library_, opened.get(), H5P_GROUP_CREATE);
      const Id made(H5Gcreate2(target, name.c_str(), names_.get(), list.get(), H5P_DEFAULT));
      if (!opened.ok() || !made.ok()) return failure(path, "copy the group");
      groups_.push_back(path);
      bearers_.push_back(path);
      return {};
    }
    const Id opened(H5Oopen(source, name.c_str(), H5P_DEFAULT));
    if (!opened.ok()) return failure(path, "open the object");
    if (const auto again = remade_.find(object.key); again != remade_.end()) {
      HEADRACE_ASSIGN(const Id made, make_(again->second, path, opened.get()));
      bearers_.push_back(path);
      return {};
    }
    HEADRACE_TRY(done(H5Ocopy(source, name.c_str(), target, name.c_str(), object_list_.get(), names_.get()), path));
    if (object.type == H5O_TYPE_DATASET) {
      out_.datasets.push_back(path);
      const Id type(H5Dget_type(opened.get()));
      if (holds_references(type.get())) pointing_.push_back(path);
    }
    bearers_.push_back(path);
    return {};
  }

  /// In one go: a value that is changed later may be one that HDF5 1.10 cannot change (its dense storage).
  Status copy_attributes(const std::string& path) {
    const Id source(H5Oopen(from_, path.c_str(), H5P_DEFAULT)), target(H5Oopen(to_, path.c_str(), H5P_DEFAULT));
    if (!source.ok() || !target.ok()) return failure(path, "open the object");
    HEADRACE_ASSIGN(const std::vector<std::string> names, attributes_of(library_, source.get()));
    for (const std::string& name : names) {
      const Id attribute(H5Aopen(source.get(), name.c_str(), H5P_DEFAULT));
      if (!attribute.ok()) return attribute_error(library_, path, name, "open it");
      const Id stored(H5Aget_type(attribute.get())), type(H5Tcopy(stored.get())), space(H5Aget_space(attribute.get())),
          list(H5Aget_create_plist(attribute.get()));
      const Id made(H5Acreate2(target.get(), name.c_str(), type.get(), space.get(), list.get(), H5P_DEFAULT));
      if (!made.ok()) return attribute_error(library_, path, name, "make it in the new file");
      Values values(library_, type.get(), space.get());
      if (values.count() == 0) continue;
      if (H5Aread(attribute.get(), values.type(), values.data()) < 0)
        return attribute_error(library_, path, name, "read it");
      Status translated = translate_all(values);
      if (!translated.ok()) return std::move(translated.error().with_field(path + "@" + name));
      if (H5Awrite(made.get(), values.type(), values.data()) < 0)
        return attribute_error(library_, path, name, "write it");
    }
    return {};
  }

  Status translate_all(Values& values) {
    for (std::size_t i = 0; i < values.count(); ++i)
      HEADRACE_TRY(
          visit_references(values.type(), values.data() + i * values.element_bytes(),
                           [&](hid_t type, std::byte* reference) { return translate(from_, to_, type, reference); }));
    return {};
  }

  Status point_dataset(const std::string& path) {
    const Id source(H5Dopen2(from_, path.c_str(), H5P_DEFAULT)), target(H5Dopen2(to_, path.c_str(), H5P_DEFAULT));
    const Id type(H5Dget_type(source.get())), space(H5Dget_space(source.get()));
    const auto elements = static_cast<std::uint64_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0));
    if (elements > kMostPointingBytes / std::max<std::size_t>(H5Tget_size(type.get()), 1))
      return Error(ErrorCode::kUnsupported, "more than 1 GiB of references cannot be copied");
    Values values(library_, type.get(), space.get());
    if (values.count() == 0) return {};
    if (H5Dread(source.get(), values.type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
      return failure(path, "read the references");
    HEADRACE_TRY(translate_all(values));
    if (H5Dwrite(target.get(), values.type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
      return failure(path, "write the references");
    return {};
  }

  [[nodiscard]] Status done(herr_t status, const std::string& path) const {
    return status < 0 ? Status(failure(path, "copy it")) : Status();
  }
  [[nodiscard]] Error failure(const std::string& path, const char* doing) const {
    return Error(ErrorCode::kCorruptData,
                 fmt::format("libhdf5 cannot {}: {}", doing, last_library_error(library_).text()))
        .with_field(path)
        .with_stage("copy");
  }

  const LibraryLock& library_;
  hid_t from_, to_;
  const MakeDataset& make_;
  Id names_, object_list_;
  std::map<ObjectKey, std::string> remade_, copied_;
  std::deque<std::string> groups_;
  std::vector<std::string> bearers_;   // objects, whose attributes are copied when all objects are there
  std::vector<std::string> pointing_;  // datasets of references
  CopiedObjects out_;
};

/// Both hold the same elements; space and type were compared.
bool same_values(hid_t from, hid_t to, Values& a, Values& b) {
  const auto same_reference = [&](hid_t type, const std::byte* x, const std::byte* y) {
    const auto p = path_of_reference(from, type, x), q = path_of_reference(to, type, y);
    return p.ok() && q.ok() && *p == *q;
  };
  for (std::size_t i = 0; i < a.count(); ++i)
    if (!equal_elements(a.type(), a.data() + i * a.element_bytes(), b.data() + i * b.element_bytes(), same_reference))
      return false;
  return true;
}

Result<std::string> compare_attributes(const LibraryLock& library, hid_t from, hid_t to, hid_t a, hid_t b,
                                       const std::string& path) {
  HEADRACE_ASSIGN(const std::vector<std::string> names, attributes_of(library, a));
  HEADRACE_ASSIGN(const std::vector<std::string> others, attributes_of(library, b));
  if (names != others) return std::string("the names of the attributes");
  for (const std::string& name : names) {
    const Id x(H5Aopen(a, name.c_str(), H5P_DEFAULT)), y(H5Aopen(b, name.c_str(), H5P_DEFAULT));
    const Id x_type(H5Aget_type(x.get())), y_type(H5Aget_type(y.get())), x_space(H5Aget_space(x.get())),
        y_space(H5Aget_space(y.get()));
    Values left(library, x_type.get(), x_space.get()), right(library, y_type.get(), y_space.get());
    if (H5Tequal(left.type(), right.type()) <= 0 || H5Sextent_equal(x_space.get(), y_space.get()) <= 0)
      return fmt::format("attribute '{}'", name);
    if (left.count() == 0) continue;
    if (H5Aread(x.get(), left.type(), left.data()) < 0 || H5Aread(y.get(), right.type(), right.data()) < 0)
      return attribute_error(library, path, name, "read it again");
    if (!same_values(from, to, left, right)) return fmt::format("attribute '{}'", name);
  }
  return std::string();
}

}  // namespace

Result<CopiedObjects> copy_objects(const LibraryLock& library, hid_t from, hid_t to,
                                   const std::vector<std::string>& remade, const MakeDataset& make) {
  return Copy(library, from, to, make).run(remade);
}

Result<std::string> compare_object(const LibraryLock& library, hid_t from, hid_t to, const std::string& path,
                                   bool dataset) {
  constexpr std::size_t kAtOnceBytes = std::size_t{32} << 20;
  const Id a(H5Oopen(from, path.c_str(), H5P_DEFAULT)), b(H5Oopen(to, path.c_str(), H5P_DEFAULT));
  if (!a.ok() || !b.ok()) return std::string("that it is there");
  HEADRACE_ASSIGN(std::string differs, compare_attributes(library, from, to, a.get(), b.get(), path));
  if (!differs.empty() || !dataset) return differs;
  const Id a_type(H5Dget_type(a.get())), b_type(H5Dget_type(b.get())), a_space(H5Dget_space(a.get())),
      b_space(H5Dget_space(b.get()));
  const Id x_type(H5Tcopy(a_type.get())), y_type(H5Tcopy(b_type.get()));
  if (H5Tequal(x_type.get(), y_type.get()) <= 0) return std::string("its type");
  if (H5Sextent_equal(a_space.get(), b_space.get()) <= 0) return std::string("its shape");
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(a_space.get()), 0)));
  if (!extents.empty()) H5Sget_simple_extent_dims(a_space.get(), extents.data(), nullptr);
  const hssize_t points = H5Sget_simple_extent_npoints(a_space.get());
  if (points <= 0) return std::string();
  const std::uint64_t rows = extents.empty() ? 1 : extents[0];
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(points) / rows * H5Tget_size(x_type.get());
  const std::uint64_t step = std::max<std::uint64_t>(kAtOnceBytes / std::max<std::uint64_t>(row_bytes, 1), 1);
  for (std::uint64_t row = 0; row < rows; row += step) {
    const std::uint64_t count = std::min(step, rows - row);
    if (!extents.empty()) {
      std::vector<hsize_t> start(extents.size(), 0), size = extents;
      start[0] = row, size[0] = count;
      H5Sselect_hyperslab(a_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
      H5Sselect_hyperslab(b_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
    }
    Values left(library, a_type.get(), a_space.get()), right(library, b_type.get(), b_space.get());
    const hsize_t elements = left.count();
    const Id dense(H5Screate_simple(1, &elements, nullptr));
    if (H5Dread(a.get(), left.type(), dense.get(), a_space.get(), H5P_DEFAULT, left.data()) < 0 ||
        H5Dread(b.get(), right.type(), dense.get(), b_space.get(), H5P_DEFAULT, right.data()) < 0)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("libhdf5 cannot read it again: {}", last_library_error(library).text()))
          .with_field(path);
    if (!same_values(from, to, left, right)) return fmt::format("rows {} to {}", row, row + count - 1);
  }
  return std::string();
}

Id group_list_like(const LibraryLock&, hid_t group, hid_t list_class) {
  Id list(H5Pcreate(list_class));
  const Id like(H5Gget_create_plist(group));
  unsigned order = 0, compact = 0, dense = 0;
  if (H5Pget_link_creation_order(like.get(), &order) >= 0) H5Pset_link_creation_order(list.get(), order);
  if (H5Pget_attr_creation_order(like.get(), &order) >= 0) H5Pset_attr_creation_order(list.get(), order);
  if (H5Pget_link_phase_change(like.get(), &compact, &dense) >= 0) H5Pset_link_phase_change(list.get(), compact, dense);
  H5Pset_obj_track_times(list.get(), 0);
  return list;
}

}  // namespace headrace::hdf5
