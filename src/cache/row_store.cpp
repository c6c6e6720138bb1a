#include "cache/row_store.h"

#include <cstring>
#include <utility>

#include "base/page_buffer.h"
#include "cache/block_states.h"
#include "cache/row_layout.h"

namespace headrace {
namespace {

class MemoryRowStore final : public RowStore {
 public:
  MemoryRowStore(RowLayout layout, PageBuffer words, std::vector<PageBuffer> fields)
      : layout_(std::move(layout)),
        words_(std::move(words)),
        fields_(std::move(fields)),
        states_(words_.data(), layout_.num_blocks()) {}

  [[nodiscard]] const RowLayout& layout() const override { return layout_; }
  [[nodiscard]] const std::byte* field(std::size_t field) const override { return fields_[field].data(); }

  Take take(std::uint64_t block) override {
    switch (states_.claim(block)) {
      case BlockStates::Claim::kReady:
        return Take::kReady;
      case BlockStates::Claim::kBusy:
        return Take::kBusy;
      default:
        return Take::kFill;
    }
  }
  [[nodiscard]] bool ready(std::uint64_t block) const override { return states_.ready(block); }
  bool wait(std::uint64_t block, std::chrono::nanoseconds limit) override { return states_.wait(block, limit); }

  [[nodiscard]] std::byte* writable(std::size_t field, std::uint64_t block) override {
    return fields_[field].data() + block_bytes(layout_, field, block).offset;
  }
  Status put(std::uint64_t block, std::span<const std::byte* const> rows) override {
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      const std::uint64_t size_bytes = block_bytes(layout_, field, block).size;
      if (size_bytes != 0) std::memcpy(writable(field, block), rows[field], size_bytes);
    }
    return {};
  }
  bool publish(std::uint64_t block) override { return states_.publish(block); }
  void abandon(std::uint64_t block) override { states_.abandon(block); }

  [[nodiscard]] bool complete() const override { return states_.complete(); }
  [[nodiscard]] std::uint64_t ready_blocks() const override { return states_.ready_blocks(); }
  Status check(std::uint64_t) override { return {}; }
  [[nodiscard]] bool all_checked() const override { return true; }
  [[nodiscard]] std::uint64_t charged_bytes() const override {
    std::uint64_t bytes = words_.charged_bytes();
    for (const PageBuffer& field : fields_) bytes += field.charged_bytes();
    return bytes;
  }

 private:
  const RowLayout layout_;
  const PageBuffer words_;
  const std::vector<PageBuffer> fields_;
  BlockStates states_;
};

}  // namespace

std::uint64_t RowLayout::row_bytes() const {
  std::uint64_t bytes = 0;
  for (const Field& field : fields) bytes += field.row_bytes();
  return bytes;
}

Result<std::shared_ptr<RowStore>> RowStore::in_memory(RowLayout layout) {
  HEADRACE_TRY(check_row_layout(layout));
  HEADRACE_ASSIGN(PageBuffer words, PageBuffer::allocate(BlockStates::bytes_for(layout.num_blocks())));
  std::vector<PageBuffer> fields;
  for (const Field& field : layout.fields) {
    Result<PageBuffer> memory = PageBuffer::allocate(layout.rows() * field.row_bytes());
    if (!memory.ok()) return std::move(memory.error().with_field(field.name).with_stage("cache"));
    fields.push_back(std::move(*memory));
  }
  return std::shared_ptr<RowStore>(
      std::make_shared<MemoryRowStore>(std::move(layout), std::move(words), std::move(fields)));
}

}  // namespace headrace
