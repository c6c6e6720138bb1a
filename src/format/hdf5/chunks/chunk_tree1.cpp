#include "format/hdf5/chunks/chunk_tree1.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kUsualEntries = 64;  // of a full node, unless the writer has set its rank (H5Pset_istore_k)
constexpr std::uint64_t kLevelLimit = 40;    // of nodes of two entries that hold more chunks than may be

class TreeWalk {
 public:
  TreeWalk(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout,
           const std::vector<std::uint64_t>& grid, const TakeChunk& take)
      : file_(file),
        superblock_(superblock),
        layout_(layout),
        grid_(grid),
        take_(take),
        head_bytes_(8 + 2 * superblock.address_bytes),
        key_bytes_(8 + 8 * (grid.size() + 1)) {}

  Status run() { return layout_.address ? visit(*layout_.address, std::nullopt) : Status(); }

 private:
  struct Node {
    std::uint64_t level = 0, entries = 0;
    std::vector<std::byte> bytes;  // keys and children, without the last key
  };

  Result<std::vector<std::byte>> read(std::uint64_t address, std::uint64_t at_least, std::uint64_t at_most) const {
    std::uint64_t at = 0;
    if (__builtin_add_overflow(address, superblock_.at, &at) || at > file_.size() || at_least > file_.size() - at)
      return index_damaged(fmt::format("a node of {} bytes at {} in a file of {}", at_least, address, file_.size()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(at_most, file_.size() - at)));
    HEADRACE_TRY(file_.read_at(at, bytes));
    return bytes;
  }

  Result<Node> read_node(std::uint64_t address) const {
    const std::uint64_t entry_bytes = key_bytes_ + superblock_.address_bytes;
    HEADRACE_ASSIGN(std::vector<std::byte> bytes,
                    read(address, head_bytes_, head_bytes_ + kUsualEntries * entry_bytes));
    if (std::memcmp(bytes.data(), "TREE", 4) != 0) return index_damaged(fmt::format("no node at {}", address));
    ByteCursor fields(bytes);
    fields.skip(4);
    const std::uint64_t type = fields.number(1);
    Node node;
    node.level = fields.number(1), node.entries = fields.number(2);
    if (type != 1) return index_damaged(fmt::format("a node of type {}", type));
    const std::uint64_t whole = head_bytes_ + node.entries * entry_bytes;
    if (bytes.size() < whole) {
      HEADRACE_ASSIGN(bytes, read(address, whole, whole));
    }
    node.bytes = std::move(bytes);
    return node;
  }

  /// Levels descend and cells ascend, so neither circles nor shared nodes get far.
  Status visit(std::uint64_t address, std::optional<std::uint64_t> parent_level) {
    HEADRACE_ASSIGN(Node node, read_node(address));
    if (node.level > kLevelLimit) return index_damaged(fmt::format("a node of level {}", node.level));
    if (parent_level && (node.level + 1 != *parent_level || node.entries == 0))
      return index_damaged(fmt::format("a node of level {} with {} entries below one of level {}", node.level,
                                       node.entries, *parent_level));
    ByteCursor fields(node.bytes);
    fields.skip(head_bytes_);
    std::vector<std::uint64_t> children;
    for (std::uint64_t i = 0; i < node.entries; ++i) {
      ByteCursor key(fields.take(key_bytes_));
      const std::uint64_t child = fields.number(superblock_.address_bytes);
      if (node.level > 0) {
        children.push_back(child);
      } else {
        HEADRACE_TRY(add(key, child));
      }
    }
    node.bytes = {};
    for (const std::uint64_t child : children)
      if (std::uint64_t at = 0; !__builtin_add_overflow(child, superblock_.at, &at))
        file_.expect_read({at, head_bytes_ + kUsualEntries * (key_bytes_ + superblock_.address_bytes)});
    for (const std::uint64_t child : children) HEADRACE_TRY(visit(child, node.level));
    return {};
  }

  Status add(ByteCursor& key, std::uint64_t address) {
    ChunkPlace chunk;
    std::uint64_t cell = 0;
    chunk.size_bytes = key.number(4);
    chunk.filter_mask = static_cast<std::uint32_t>(key.number(4));
    for (std::size_t d = 0; d < grid_.size(); ++d) {
      const std::uint64_t offset = key.number(8), at = offset / layout_.lengths[d];
      if (at >= grid_[d] || offset % layout_.lengths[d] != 0)
        return index_damaged(
            fmt::format("a chunk begins at {} along axis {}: chunks are {} long, the array ends in the {}th", offset, d,
                        layout_.lengths[d], grid_[d]));
      cell = cell * grid_[d] + at;
    }
    if (key.number(8) != 0) return index_damaged("a chunk begins inside an element");
    if (last_cell_ && cell <= *last_cell_)
      return index_damaged(fmt::format("chunk number {} comes after {}", cell, *last_cell_));
    if (address == superblock_.undefined_address() || __builtin_add_overflow(address, superblock_.at, &chunk.address))
      return index_damaged(fmt::format("chunk number {} has no bytes", cell));
    last_cell_ = cell;
    return take_(cell, chunk);
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const ChunkLayout& layout_;
  const std::vector<std::uint64_t>& grid_;
  const TakeChunk& take_;
  const std::uint64_t head_bytes_, key_bytes_;
  std::optional<std::uint64_t> last_cell_;
};

}  // namespace

Status read_chunk_tree(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout,
                       const std::vector<std::uint64_t>& grid, const TakeChunk& take) {
  return TreeWalk(file, superblock, layout, grid, take).run();
}

}  // namespace headrace::hdf5
