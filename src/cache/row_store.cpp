#include "cache/row_store.h"

#include <utility>

#include "base/memory/page_buffer.h"
#include "cache/in_place_store.h"

namespace headrace {
namespace {

class MemoryRowStore final : public InPlaceStore {
 public:
  MemoryRowStore(RowLayout layout, PageBuffer words, std::vector<PageBuffer> fields)
      : InPlaceStore(std::move(layout), words.data()), words_(std::move(words)), fields_(std::move(fields)) {}

  [[nodiscard]] const std::byte* field(std::size_t field) const override { return fields_[field].data(); }
  Lookup look_up(std::uint64_t block) override { return claim(block); }
  [[nodiscard]] std::byte* writable(std::size_t field, std::uint64_t block) override {
    return fields_[field].data() + block_bytes(layout_, field, block).offset;
  }
  [[nodiscard]] std::uint64_t charged_bytes() const override {
    std::uint64_t bytes = words_.charged_bytes();
    for (const PageBuffer& field : fields_) bytes += field.charged_bytes();
    return bytes;
  }

 private:
  const PageBuffer words_;
  const std::vector<PageBuffer> fields_;
};

}  // namespace

std::uint64_t RowLayout::row_bytes() const {
  std::uint64_t bytes = 0;
  for (const StoredColumn& field : fields) bytes += field.row_bytes();
  return bytes;
}

std::uint64_t RowStore::pages_for(const RowLayout& layout) {
  std::uint64_t bytes = PageBuffer::charge_for(BlockStates::bytes_for(layout.num_blocks()) + kPayerBytes);
  for (const StoredColumn& field : layout.fields) bytes += PageBuffer::charge_for(layout.rows() * field.row_bytes());
  return bytes;
}

Result<std::shared_ptr<RowStore>> RowStore::in_memory(RowLayout layout) {
  HEADRACE_TRY(check_row_layout(layout));
  HEADRACE_ASSIGN(PageBuffer words, PageBuffer::allocate(BlockStates::bytes_for(layout.num_blocks())));
  std::vector<PageBuffer> fields;
  for (const StoredColumn& field : layout.fields) {
    Result<PageBuffer> memory = PageBuffer::allocate(layout.rows() * field.row_bytes());
    if (!memory.ok()) return std::move(memory.error().with_field(field.name).with_stage("cache"));
    fields.push_back(std::move(*memory));
  }
  return std::shared_ptr<RowStore>(
      std::make_shared<MemoryRowStore>(std::move(layout), std::move(words), std::move(fields)));
}

}  // namespace headrace
