// An order given row by row, by somebody else.
#include <fmt/format.h>

#include "base/philox.h"
#include "order/direct_cursor.h"

namespace headrace {
namespace {

struct ListedRow {
  const std::vector<std::uint64_t>* rows;
  std::uint64_t operator()(std::uint64_t position) const { return (*rows)[position]; }
};

class Listed final : public Sampler {
 public:
  Listed(std::shared_ptr<const BlockTable> blocks, std::vector<std::uint64_t> rows)
      : blocks_(std::move(blocks)), rows_(std::move(rows)) {
    std::uint64_t hash = rows_.size();
    for (const std::uint64_t row : rows_) hash = (hash ^ row) * 0x9E3779B97F4A7C15u + (hash >> 29);
    hash_ = RandomKey::of({hash}).low;
  }
  [[nodiscard]] std::uint64_t num_samples() const override { return rows_.size(); }
  [[nodiscard]] std::string describe() const override { return fmt::format("{} rows as listed", rows_.size()); }
  [[nodiscard]] std::string identity() const override { return fmt::format("listed {:016x}", hash_); }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    return num_samples() / global_batch + 1;
  }
  [[nodiscard]] bool is_permutation() const override { return false; }
  [[nodiscard]] bool has_locality() const override { return false; }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<ListedRow>>(*blocks_, num_samples(), walk, ListedRow{&rows_});
  }

 private:
  std::shared_ptr<const BlockTable> blocks_;
  std::vector<std::uint64_t> rows_;
  std::uint64_t hash_;
};

}  // namespace

std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::vector<std::uint64_t> rows) {
  return std::make_unique<Listed>(std::move(blocks), std::move(rows));
}

}  // namespace headrace
