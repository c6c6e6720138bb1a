// An order given row by row, by somebody else.
#include <fmt/format.h>

#include "order/direct_cursor.h"
#include "order/drawn.h"

namespace headrace {
namespace {

struct ListedRow {
  const std::vector<std::uint64_t>* rows;
  std::uint64_t operator()(std::uint64_t position) const { return (*rows)[position]; }
};

class Listed final : public Drawn {
 public:
  Listed(std::shared_ptr<const BlockTable> blocks, std::vector<std::uint64_t> rows)
      : Drawn(std::move(blocks), rows.size(),
              fmt::format("listed {:016x}", hash_of_list(rows, [](std::uint64_t row) { return row; }))),
        rows_(std::move(rows)) {}
  [[nodiscard]] std::string describe() const override { return fmt::format("{} rows as listed", rows_.size()); }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<ListedRow>>(*blocks_, num_samples(), walk, ListedRow{&rows_});
  }

 private:
  std::vector<std::uint64_t> rows_;
};

}  // namespace

std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::vector<std::uint64_t> rows) {
  return std::make_unique<Listed>(std::move(blocks), std::move(rows));
}

}  // namespace headrace
