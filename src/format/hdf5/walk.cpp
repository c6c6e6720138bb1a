#include "format/hdf5/walk.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "format/hdf5/attributes.h"
#include "format/hdf5/dataset_info.h"
#include "format/hdf5/structure/group_check.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kObjectLimit = 1'000'000;
constexpr std::size_t kPathLimit = 64 * 1024;
constexpr std::size_t kPathsLimitBytes = 128 << 20;  // of all paths: a group's long name stands in those of all within

herr_t veto(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
  return -1;
}

/// Access list that stops at external links, whatever the path.
Id link_access_list(hid_t list_class) {
  Id list(H5Pcreate(list_class));
  H5Pset_elink_cb(list.get(), veto, nullptr);
  return list;
}

struct Object {
  ObjectKey key{};
  H5O_type_t type = H5O_TYPE_UNKNOWN;
};

/// Where the object's header lies: a native token is its address, little-endian.
std::uint64_t address_of(const ObjectKey& key) {
  std::uint64_t address = 0;
  std::memcpy(&address, key.data(), sizeof address);
  return address;
}

std::optional<Object> object_at(hid_t group, const char* name) {
  const Id access = link_access_list(H5P_LINK_ACCESS);
  Object out;
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  if (H5Oget_info_by_name3(group, name, &info, H5O_INFO_BASIC, access.get()) < 0) return {};
  static_assert(sizeof info.token == sizeof(ObjectKey));
  std::memcpy(out.key.data(), &info.token, sizeof info.token);
#else
  H5O_info_t info;
  if (H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, access.get()) < 0) return {};
  std::memcpy(out.key.data(), &info.addr, sizeof info.addr);
#endif
  out.type = info.type;
  return out;
}

struct Link {
  std::string name;
  H5L_type_t type;
  std::uint64_t address;  ///< Address of the object's header, if it is a hard link.
};

/// Where a hard link leads. What lies there has not been looked at.
std::uint64_t address_of_link(const H5L_info_t& info) {
  if (info.type != H5L_TYPE_HARD) return 0;
#if H5_VERSION_GE(1, 12, 0)
  std::uint64_t address = 0;
  std::memcpy(&address, &info.u.token, sizeof address);
  return address;
#else
  return info.u.address;
#endif
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t* info, void* into) {
  try {  // nothing may unwind through C
    auto& links = *static_cast<std::vector<Link>*>(into);
    if (links.size() > kObjectLimit) return -1;
    links.push_back({name, info->type, address_of_link(*info)});
  } catch (...) {
    return -1;
  }
  return 0;
}

/// Return the bytes that an element takes in the file, as the header says; 0 if it says it elsewhere.
std::uint64_t stated_size(const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kDatatype) || m.shared()) continue;
    ByteCursor fields(m.bytes);
    fields.skip(4);  // class, version and bits (specification IV.A.2.d)
    return fields.number(4);
  }
  return 0;
}

class GroupWalk {
 public:
  GroupWalk(const LibraryLock& library, FileState& state)
      : session_(library), state_(state), heaps_(*state.driver->file, state.superblock) {}

  Result<Walked> run() {
    const auto root = object_at(state_.file.get(), "/");
    if (!root) return library_failure(session_, state_, "read the root group");
    groups_.insert(root->key);
    pending_.push_back({"", address_of(root->key)});
    while (!pending_.empty()) {
      const auto [path, address] = std::move(pending_.front());
      pending_.pop_front();
      HEADRACE_TRY(visit_group(path, address));
    }
    const bool all_damaged = found_.empty() && !damaged_.empty();
    if (all_damaged) return std::move(damaged_.front().second.with_field(damaged_.front().first));
    return finish();
  }

 private:
  Status visit_group(const std::string& path, std::uint64_t address) {
    auto messages = read_object_header(*state_.driver->file, state_.superblock, address);
    Status sound =
        messages.ok() ? check_group(*state_.driver->file, state_.superblock, *messages) : Status(messages.error());
    out_.groups_sound = out_.groups_sound && sound.ok();
    if (!sound.ok()) return note_damaged(path.empty() ? "/" : path, std::move(sound.error()));
    if (path.empty()) {
      HEADRACE_ASSIGN(out_.attributes, read_attributes(*state_.driver->file, state_.superblock, *messages, heaps_));
    }
    std::vector<Link> links;
    const Id access = link_access_list(H5P_GROUP_ACCESS);
    const Id group(H5Gopen2(state_.file.get(), path.empty() ? "/" : path.c_str(), access.get()));
    if (!group.ok() || H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect_link, &links) < 0) {
      HEADRACE_TRY(note_damaged(path.empty() ? "/" : path, library_failure(session_, state_, "list the group")));
    }
    std::ranges::sort(links, {}, &Link::name);
    for (const Link& link : links) {
      if (++objects_ > kObjectLimit)
        return Error(ErrorCode::kUnsupported, fmt::format("the file has more than {} objects", kObjectLimit));
      const std::string child = path.empty() ? link.name : path + "/" + link.name;
      if (child.size() > kPathLimit) return Error(ErrorCode::kUnsupported, "groups nested too deeply");
      paths_bytes_ += child.size();
      if (paths_bytes_ > kPathsLimitBytes)
        return Error(ErrorCode::kUnsupported,
                     fmt::format("the paths of its objects take more than {}", format_bytes(kPathsLimitBytes)))
            .with_hint("Give groups shorter names.");
      HEADRACE_TRY(visit_link(group.get(), link, child));
    }
    return {};
  }

  Status visit_link(hid_t group, const Link& link, const std::string& path) {
    if (link.type == H5L_TYPE_SOFT) return {};
    if (link.type != H5L_TYPE_HARD) {
      out_.refused.emplace(path, Error(ErrorCode::kUnsupported, link.type == H5L_TYPE_EXTERNAL
                                                                    ? "a link into another file, which is not followed"
                                                                    : "a user-defined link, which is not followed"));
      return {};
    }
    // libhdf5 reads the header to tell what it is, so it is looked at first.
    auto messages = read_object_header(*state_.driver->file, state_.superblock, link.address);
    if (!messages.ok()) {
      out_.groups_sound = false;  // no path may lead there
      return note_damaged(path, std::move(messages.error()));
    }
    const auto object = object_at(group, link.name.c_str());
    if (!object) return note_damaged(path, library_failure(session_, state_, "read the object's header"));
    if (object->type == H5O_TYPE_GROUP) {
      if (groups_.insert(object->key).second) pending_.push_back({path, address_of(object->key)});
    } else if (object->type == H5O_TYPE_DATASET && datasets_.insert(object->key).second) {
      return visit_dataset(group, link.name, path, object->key, *messages);
    }
    return {};
  }

  Status visit_dataset(hid_t group, const std::string& name, const std::string& path, const ObjectKey& key,
                       const std::vector<HeaderMessage>& messages) {
    Status sound = check_dataset(*state_.driver->file, state_.superblock, messages);
    if (!sound.ok()) return note_damaged(path, std::move(sound.error()));
    const Id dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT));
    if (!dataset.ok()) return note_damaged(path, library_failure(session_, state_, "open the dataset", messages));
    auto info = describe_dataset(session_, state_, dataset.get(), path);
    if (!info.ok()) {
      if (state_.driver->read_error) return *state_.driver->read_error;
      return note_damaged(path, std::move(info.error()));
    } else if (info->array.shape.empty()) {
      out_.refused.emplace(path, Error(ErrorCode::kUnsupported, "a scalar, which has no rows"));
    } else {
      HEADRACE_ASSIGN(info->array.attributes,
                      read_attributes(*state_.driver->file, state_.superblock, messages, heaps_));
      if (!info->array.left_out.empty() && stated_size(messages) != info->element.stored_bytes) {
        info->array.read_path = ReadPath::kUnsupported;
        info->array.reason = info->array.left_out[0].reason;
        info->array.no_numbers = true;
      }
      if (is_bare_dimension(messages)) {
        info->array.read_path = ReadPath::kUnsupported;
        info->array.reason = "a netCDF dimension without values";
        info->array.no_numbers = true;
      }
      found_.emplace_back(key, std::move(info->array));
    }
    return {};
  }

  Status note_damaged(const std::string& path, Error error) {
    if (is_read_failure(error)) return error;
    damaged_.emplace_back(path, std::move(error));
    return {};
  }

  // The disk failed, not the file: nothing to list.
  static bool is_read_failure(const Error& error) {
    return error.code() != ErrorCode::kCorruptData && error.code() != ErrorCode::kUnsupported;
  }

  Walked finish() {
    constexpr std::size_t kMostLeftOut = 100;
    for (const auto& [path, error] : out_.refused)  // before the damaged ones join them
      if (out_.passed_over.size() < kMostLeftOut) out_.passed_over.push_back({path, error.message()});
    for (auto& [path, error] : damaged_) {
      ArrayInfo info;
      info.path = path;
      info.shape = {0};
      info.read_path = ReadPath::kUnsupported;
      info.reason = error.message();
      if (error.code() == ErrorCode::kUnsupported && !error.hint().empty()) info.reason += ". " + error.hint();
      found_.emplace_back(std::nullopt, std::move(info));
      out_.refused.emplace(path, std::move(error));
    }
    std::ranges::sort(found_, {}, [](const auto& f) -> const std::string& { return f.second.path; });
    for (auto& [key, info] : found_) {
      if (key) out_.by_object.emplace(*key, out_.arrays.size());
      out_.arrays.push_back(std::move(info));
    }
    return std::move(out_);
  }

  const LibraryLock& session_;
  FileState& state_;
  HeapTexts heaps_;
  Walked out_;
  std::vector<std::pair<std::optional<ObjectKey>, ArrayInfo>> found_;
  std::vector<std::pair<std::string, Error>> damaged_;
  std::set<ObjectKey> groups_, datasets_;
  std::deque<std::pair<std::string, std::uint64_t>> pending_;  // groups to visit: path, address
  std::size_t objects_ = 0, paths_bytes_ = 0;
};

}  // namespace

Result<Walked> walk_file(const LibraryLock& library, FileState& state) {
  return GroupWalk(library, state).run();
}

std::optional<ObjectKey> find_object(const LibraryLock&, FileState& state, const std::string& path) {
  const auto object = object_at(state.file.get(), path.c_str());
  if (!object || object->type != H5O_TYPE_DATASET) return {};
  return object->key;
}

Result<CheckedDataset> find_checked(const LibraryLock& library, FileState& state, const std::string& path,
                                    std::set<std::uint64_t>& checked) {
  constexpr int kSoftLinksLimit = 16;
  const RandomAccessFile& file = *state.driver->file;
  const hid_t root = state.file.get();
  const auto check = [&](const Object& object, const std::string& name) -> Status {
    const std::uint64_t address = address_of(object.key);
    if (object.type == H5O_TYPE_GROUP && checked.contains(address)) return {};
    HEADRACE_ASSIGN(const auto messages, read_object_header(file, state.superblock, address));
    if (object.type == H5O_TYPE_GROUP) {
      HEADRACE_TRY(check_group(file, state.superblock, messages));
      checked.insert(address);
      return {};
    }
    if (object.type == H5O_TYPE_DATASET) return check_dataset(file, state.superblock, messages);
    return Error(ErrorCode::kNotFound, fmt::format("'{}' is no dataset", name));
  };
  std::optional<Object> object = object_at(root, "/");
  if (!object) return library_failure(library, state, "read the root group");
  HEADRACE_TRY(check(*object, "/"));
  CheckedDataset found;
  int soft_links = 0;
  std::string left = path;
  while (true) {
    const std::size_t first = left.find_first_not_of('/');
    if (first == std::string::npos) break;
    const std::size_t end = std::min(left.find('/', first), left.size());
    const std::string name = left.substr(first, end - first);
    left.erase(0, end);
    if (name == ".") continue;
    const std::string child = found.path.empty() ? name : found.path + "/" + name;
    H5L_info_t link;
    if (object->type != H5O_TYPE_GROUP || H5Lexists(root, child.c_str(), H5P_DEFAULT) <= 0 ||
        H5Lget_info(root, child.c_str(), &link, H5P_DEFAULT) < 0)
      return Error(ErrorCode::kNotFound, fmt::format("there is no '{}'", child));
    if (link.type == H5L_TYPE_SOFT) {
      std::string target(link.u.val_size + 1, '\0');
      if (++soft_links > kSoftLinksLimit || link.u.val_size > kPathLimit ||
          H5Lget_val(root, child.c_str(), target.data(), target.size(), H5P_DEFAULT) < 0)
        return Error(ErrorCode::kCorruptData, fmt::format("the link '{}' leads nowhere", child));
      target.resize(target.find('\0'));
      left = target + left;
      if (target.starts_with('/')) {
        found.path.clear();
        object = object_at(root, "/");
      }
      continue;
    }
    if (link.type != H5L_TYPE_HARD)
      return Error(ErrorCode::kUnsupported,
                   fmt::format("'{}' is a link into another file, which is not followed", child));
    if (const std::uint64_t address = address_of_link(link); !checked.contains(address))
      HEADRACE_TRY(read_object_header(file, state.superblock, address));  // before libhdf5 does
    object = object_at(root, child.c_str());
    if (!object) return library_failure(library, state, "read the object's header");
    HEADRACE_TRY(check(*object, child));
    found.path = child;
    if (found.path.size() > kPathLimit) return Error(ErrorCode::kUnsupported, "groups nested too deeply");
  }
  if (object->type != H5O_TYPE_DATASET) return Error(ErrorCode::kNotFound, fmt::format("'{}' is no dataset", path));
  found.header_address = address_of(object->key);
  return found;
}

Id open_dataset(const LibraryLock&, FileState& state, const std::string& path) {
  const Id access = link_access_list(H5P_DATASET_ACCESS);
  return Id(H5Dopen2(state.file.get(), path.c_str(), access.get()));
}

}  // namespace headrace::hdf5
