#include "format/hdf5/structure/tree2.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kNodeLimitBytes = 1 << 20;  // libhdf5 makes them of 512 to 2048 bytes
constexpr std::uint64_t kTreeDepthLimit = 32;       // every level at least triples the records
constexpr std::uint64_t kNodeRecords = 0xFFFF;      // libhdf5 counts those of a node in 2 bytes
constexpr std::uint64_t kPrefixBytes = 6, kNodeChecksumBytes = 4;

Error tree_damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "the B-tree is damaged: " + std::move(why));
}

class Tree2Walk {
 public:
  Tree2Walk(const RandomAccessFile& file, const Superblock& superblock, const Tree2Kind& kind,
            std::uint64_t most_records, const std::function<Status(std::span<const std::byte>)>& take)
      : file_(file), superblock_(superblock), kind_(kind), take_(take) {
    // Records do not share bytes. Nodes that lie in each other could have as many for each byte as they like.
    most_records_ = std::min(most_records, file.size() / kind.record_bytes);
  }

  Status run(std::uint64_t address) {
    const std::uint64_t head_bytes = 16 + superblock_.address_bytes + 2 + superblock_.length_bytes + kNodeChecksumBytes;
    HEADRACE_ASSIGN(const std::vector<std::byte> head, read_signed(file_, superblock_, address, head_bytes, "BTHD"));
    ByteCursor fields(head);
    fields.skip(4);
    const std::uint64_t version = fields.number(1), type = fields.number(1);
    const std::uint64_t node_bytes = fields.number(4), record_bytes = fields.number(2), depth = fields.number(2);
    fields.skip(2);  // how full nodes are to be, which is a matter of writing
    const std::uint64_t root = fields.number(superblock_.address_bytes), root_records = fields.number(2);
    const std::uint64_t records = fields.number(superblock_.length_bytes);
    if (version != 0 || type != kind_.type || record_bytes != kind_.record_bytes)
      return tree_damaged(fmt::format("records of type {} and {} bytes, expected are type {} and {} bytes", type,
                                      record_bytes, kind_.type, kind_.record_bytes));
    if (node_bytes > kNodeLimitBytes || depth > kTreeDepthLimit || records > most_records_)
      return tree_damaged(fmt::format("{} records in nodes of {} bytes, {} levels deep", records, node_bytes, depth));
    HEADRACE_TRY(plan_levels(node_bytes, depth));
    if (root == superblock_.undefined_address())
      return records == 0 && root_records == 0 ? Status() : tree_damaged("it has records and no root");
    HEADRACE_TRY(visit(root, depth, root_records));
    if (taken_ != records) return tree_damaged(fmt::format("{} records where its header says {}", taken_, records));
    return {};
  }

 private:
  /// Sizes of nodes so many levels above the leaves.
  struct Level {
    std::uint64_t most = 0;           // records of a node
    std::uint64_t most_below = 0;     // records of a node and all below it
    std::uint64_t pointer_bytes = 0;  // of each child's entry
    std::size_t below_bytes = 0;      // of the number of records below a child
  };

  // The widths of numbers in a node follow from how many records those below may have (H5B2__hdr_init()).
  Status plan_levels(std::uint64_t node_bytes, std::uint64_t depth) {
    const std::uint64_t fixed = kPrefixBytes + kNodeChecksumBytes;
    if (node_bytes < fixed + 2 * kind_.record_bytes) return tree_damaged(fmt::format("nodes of {} bytes", node_bytes));
    Level leaf;
    leaf.most = leaf.most_below = (node_bytes - fixed) / kind_.record_bytes;
    if (leaf.most > kNodeRecords) return tree_damaged(fmt::format("nodes of {} records", leaf.most));
    levels_.push_back(leaf);
    count_bytes_ = bytes_for(leaf.most);
    for (std::uint64_t d = 1; d <= depth; ++d) {
      const Level& below = levels_.back();
      Level level;
      level.below_bytes = d > 1 ? bytes_for(below.most_below) : 0;
      level.pointer_bytes = superblock_.address_bytes + count_bytes_ + level.below_bytes;
      if (node_bytes < fixed + 2 * kind_.record_bytes + 3 * level.pointer_bytes)
        return tree_damaged(fmt::format("nodes of {} bytes, {} levels deep", node_bytes, depth));
      level.most = (node_bytes - fixed - level.pointer_bytes) / (kind_.record_bytes + level.pointer_bytes);
      if (__builtin_mul_overflow(level.most + 1, below.most_below, &level.most_below) ||
          __builtin_add_overflow(level.most_below, level.most, &level.most_below))
        return tree_damaged(fmt::format("{} levels", depth));
      levels_.push_back(level);
    }
    return {};
  }

  /// Visit a node and all below it, in order. Each is met once, which bounds the work by the size of the file.
  Status visit(std::uint64_t address, std::uint64_t depth, std::uint64_t records) {
    const Level& level = levels_[depth];
    if (!seen_.insert(address).second) return tree_damaged(fmt::format("the node at {} is met twice", address));
    if (records == 0 || records > level.most || records > most_records_ - taken_)
      return tree_damaged(fmt::format("{} records in a node of at most {}", records, level.most));
    const std::uint64_t pointers = depth == 0 ? 0 : (records + 1) * level.pointer_bytes;
    const std::uint64_t size = kPrefixBytes + records * kind_.record_bytes + pointers + kNodeChecksumBytes;
    HEADRACE_ASSIGN(const std::vector<std::byte> node,
                    read_signed(file_, superblock_, address, size, depth == 0 ? "BTLF" : "BTIN"));
    ByteCursor fields(node);
    fields.skip(4);
    const std::uint64_t version = fields.number(1), type = fields.number(1);
    if (version != 0 || type != kind_.type) return tree_damaged(fmt::format("a node with records of type {}", type));
    ByteCursor values(fields.take(records * kind_.record_bytes));
    for (std::uint64_t i = 0; i <= records; ++i) {
      if (depth > 0) {
        const std::uint64_t child = fields.number(superblock_.address_bytes), count = fields.number(count_bytes_);
        const std::uint64_t below = depth > 1 ? fields.number(level.below_bytes) : count;
        const std::uint64_t before = taken_;
        HEADRACE_TRY(visit(child, depth - 1, count));
        if (taken_ - before != below)
          return tree_damaged(fmt::format("{} records below a child that is said to have {}", taken_ - before, below));
      }
      if (i == records) break;
      if (++taken_ > most_records_) return tree_damaged(fmt::format("more than {} records", most_records_));
      HEADRACE_TRY(take_(values.take(kind_.record_bytes)));
    }
    return {};
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const Tree2Kind kind_;
  std::uint64_t most_records_ = 0;
  const std::function<Status(std::span<const std::byte>)>& take_;
  std::vector<Level> levels_;
  std::size_t count_bytes_ = 1;  // of the number of records in a child
  std::uint64_t taken_ = 0;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

Status read_tree2(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                  const Tree2Kind& kind, std::uint64_t most_records,
                  const std::function<Status(std::span<const std::byte>)>& take) {
  return Tree2Walk(file, superblock, kind, most_records, take).run(address);
}

}  // namespace headrace::hdf5
