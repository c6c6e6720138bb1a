#include "format/hdf5/structure/group_check.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>

#include "format/hdf5/structure/fractal_heap.h"
#include "format/hdf5/structure/link_check.h"
#include "format/hdf5/structure/local_heap.h"
#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/tree2.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kGroupLevelLimit = 40;  // of the tree of an old group

Error group_damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "a group is damaged: " + std::move(why));
}

// libhdf5 lists both of two links of one name and opens either: perhaps not the object that was checked.
Error named_twice(std::string_view name) {
  return group_damaged(fmt::format("two of its links are called '{:.100}'", name));
}

// The B-tree of an old group (specification III.A.1, node type 0). libhdf5 1.10 follows children without looking at
// their level: one that is its own ancestor would end the stack.
class GroupTree {
 public:
  GroupTree(const RandomAccessFile& file, const Superblock& superblock, const LocalHeap& heap)
      : file_(file), superblock_(superblock), heap_(heap) {}

  Status check(std::uint64_t address, std::optional<std::uint64_t> parent_level) {
    if (!seen_.insert(address).second) return group_damaged("a node of its tree is met twice");
    const std::size_t head_bytes = 8 + 2 * superblock_.address_bytes;
    const std::size_t entry_bytes = superblock_.length_bytes + superblock_.address_bytes;
    HEADRACE_ASSIGN(const std::vector<std::byte> head, read_metadata(file_, superblock_, address, head_bytes));
    ByteCursor fields(head);
    const bool signed_tree = std::memcmp(fields.take(4).data(), "TREE", 4) == 0 && fields.number(1) == 0;
    const std::uint64_t level = fields.number(1), entries = fields.number(2);
    if (!signed_tree || level > kGroupLevelLimit || (parent_level && level + 1 != *parent_level))
      return group_damaged(fmt::format("no node of its tree at {}", address));
    HEADRACE_ASSIGN(const std::vector<std::byte> bytes,
                    read_metadata(file_, superblock_, address + head_bytes,
                                  entries == 0 ? 0 : entries * entry_bytes + superblock_.length_bytes));
    ByteCursor children(bytes);
    for (std::uint64_t i = 0; i <= entries && entries > 0; ++i) {
      // A key, behind the last child too: libhdf5 compares the name that it looks for with the one there.
      if (!heap_.has_text(children.number(superblock_.length_bytes)))
        return group_damaged("a key of its tree lies outside the heap of names");
      if (i == entries) break;
      const std::uint64_t child = children.number(superblock_.address_bytes);
      HEADRACE_TRY(level == 0 ? check_names(child) : check(child, level));
    }
    return {};
  }

 private:
  /// A symbol table node (specification III.B).
  Status check_names(std::uint64_t address) {
    if (!seen_.insert(address).second) return group_damaged("a table of names is met twice");
    HEADRACE_ASSIGN(const std::vector<std::byte> head, read_metadata(file_, superblock_, address, 8));
    ByteCursor fields(head);
    if (std::memcmp(fields.take(4).data(), "SNOD", 4) != 0)
      return group_damaged(fmt::format("no names at {}", address));
    fields.skip(2);
    const std::uint64_t count = fields.number(2);
    const std::uint64_t entry_bytes = superblock_.length_bytes + superblock_.address_bytes + 24;
    HEADRACE_ASSIGN(const std::vector<std::byte> bytes,
                    read_metadata(file_, superblock_, address + 8, count * entry_bytes));
    ByteCursor entries(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      ByteCursor entry(entries.take(entry_bytes));
      const std::uint64_t name = entry.number(superblock_.length_bytes);
      entry.skip(superblock_.address_bytes);
      const std::uint64_t kind = entry.number(4);
      entry.skip(4);
      HEADRACE_TRY(check_text(name));
      if (const std::string_view text = heap_.text(name); !names_.insert(text).second) return named_twice(text);
      if (kind == 2) HEADRACE_TRY(check_text(entry.number(4)));  // where a soft link leads
    }
    return {};
  }

  // Each name has a place of its own. libhdf5 copies them all, and so many that share one could be more than any
  // memory.
  Status check_text(std::uint64_t offset) {
    if (!heap_.has_text(offset)) return group_damaged("a name lies outside the heap of names");
    if ((text_bytes_ += heap_.text(offset).size() + 1) > 2 * file_.size())
      return group_damaged("more names than the file has bytes for");
    return {};
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const LocalHeap& heap_;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_set<std::string_view> names_;
  std::uint64_t text_bytes_ = 0;
};

/// Many links of a newer group: a heap has them, B-trees their names and their order (specification III.A.2, records
/// of type 5 and 6).
Status check_dense(const RandomAccessFile& file, const Superblock& superblock, std::span<const std::byte> link_info) {
  ByteCursor fields(link_info);
  fields.skip(1);
  const std::uint64_t flags = fields.number(1), none = superblock.undefined_address();
  if ((flags & 0x01) != 0) fields.skip(8);
  const std::uint64_t heap_at = fields.number(superblock.address_bytes),
                      names = fields.number(superblock.address_bytes);
  const std::uint64_t order = (flags & 0x02) != 0 ? fields.number(superblock.address_bytes) : none;
  if (heap_at == none || !fields.ok()) return {};
  HEADRACE_ASSIGN(const FractalHeap heap, FractalHeap::read(file, superblock, heap_at));
  std::unordered_set<std::string> by_name, by_order;
  std::uint64_t link_bytes = 0;  // each link has a place of its own, and is named once in either tree
  const auto check = [&](std::size_t before_id, std::unordered_set<std::string>& known) {
    return [&, before_id](std::span<const std::byte> record) -> Status {
      HEADRACE_ASSIGN(const std::vector<std::byte> link,
                      heap.object(record.subspan(before_id, static_cast<std::size_t>(heap.id_bytes()))));
      if ((link_bytes += link.size()) > 2 * file.size()) return group_damaged("more links than the file has bytes for");
      HEADRACE_ASSIGN(const std::string_view name, check_link(link, superblock));
      if (!known.emplace(name).second) return named_twice(name);
      return {};
    };
  };
  if (heap.id_bytes() != 7)
    return group_damaged(fmt::format("identifiers of {} bytes in a heap of links", heap.id_bytes()));
  HEADRACE_TRY(read_tree2(file, superblock, names, {5, 11}, file.size(), check(4, by_name)));
  if (order == none) return {};
  return read_tree2(file, superblock, order, {6, 15}, file.size(), check(8, by_order));
}

}  // namespace

Status check_group(const RandomAccessFile& file, const Superblock& superblock,
                   const std::vector<HeaderMessage>& messages) {
  std::unordered_set<std::string_view> names;
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kLink)) {
      HEADRACE_ASSIGN(const std::string_view name, check_link(m.bytes, superblock));
      if (!names.insert(name).second) return named_twice(name);
    }
    if (m.is(MessageType::kLinkInfo)) {
      HEADRACE_TRY(check_link_info(m.bytes, superblock));
      HEADRACE_TRY(check_dense(file, superblock, m.bytes));
    }
    if (!m.is(MessageType::kSymbolTable)) continue;
    ByteCursor fields(m.bytes);
    const std::uint64_t tree = fields.number(superblock.address_bytes);
    const std::uint64_t texts = fields.number(superblock.address_bytes);
    if (!fields.ok()) return group_damaged("where its names are is cut short");
    HEADRACE_ASSIGN(const LocalHeap heap, LocalHeap::read(file, superblock, texts));
    HEADRACE_TRY(GroupTree(file, superblock, heap).check(tree, std::nullopt));
  }
  return {};
}

Status check_root(const RandomAccessFile& file, const Superblock& superblock) {
  if (superblock.extension_address != superblock.undefined_address())
    HEADRACE_TRY(read_object_header(file, superblock, superblock.extension_address));
  HEADRACE_TRY(read_object_header(file, superblock, superblock.root_address));
  return {};
}

}  // namespace headrace::hdf5
