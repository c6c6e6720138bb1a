// What is behind a Dataset handle.
#pragma once

#include <headrace/dataset.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/copying/finisher.h"
#include "assembly/sample_source.h"
#include "assembly/servers/block_server.h"
#include "base/result.h"
#include "base/threads/fork_safe_mutex.h"
#include "dataset/recipe/data_tree.h"

namespace headrace {

struct Dataset::Impl {
  SampleSource source;
  DataTree node;  ///< How it was made; null: in memory.
  std::vector<FileEntry> files;
  std::vector<FieldStorage> storage;
  std::vector<Attributes> attributes;        ///< One for each field.
  BlockLayout layout;                        ///< How rows decode together, without resident arrays; mapped: empty.
  std::shared_ptr<const BlockTable> blocks;  ///< What an order shuffles.
  std::uint64_t rows = 0;
  std::uint64_t reading_bytes = 0;  ///< What one thread takes to read a block, beside the rows that it delivers.
  std::atomic<bool> closed{false};

  /// Scratch of finished reads, for the next ones.
  struct IdleServer {
    std::unique_ptr<StageClock> clock;
    std::unique_ptr<DecodeCounters> counters;
    std::unique_ptr<BlockServer> server;
  };
  ResidentArrays no_residents;
  SideChunks no_side_chunks{0};
  ForkSafeMutex idle_mutex;
  std::vector<IdleServer> idle;

  /// Make the tables that follow from `source`.
  static std::shared_ptr<Impl> make(SampleSource source, DataTree node = nullptr);
  /// Return the source whose rows are the samples. Throws kUnsupported, which names `what`, where they are mapped.
  [[nodiscard]] const Source& rows_for(std::string_view what) const;
  /// Return the node of a verb that was applied to this data set; null where that has none.
  template <Described Options>
  [[nodiscard]] DataTree node_with(Options options) const {
    return node ? node_of(std::move(options), node) : nullptr;
  }
  /// As Dataset::take(). \param draws  Whose randomness transforms use. \param padding  Fills up ragged samples; null:
  /// they stay ragged.
  Batch take(std::span<const std::uint64_t> samples, EpochSeed draws, const std::function<bool()>& go_on = {},
             const Finisher* padding = nullptr);
  Result<IdleServer> take_server();
  void put_server(IdleServer server);
};

/// The way to what a Dataset keeps private.
struct DatasetInternals {
  static const std::shared_ptr<Dataset::Impl>& of(const Dataset& data) { return data.impl_; }
};
/// Return what is behind a handle; null where it was moved from. Lives as long as the handle does.
inline const std::shared_ptr<Dataset::Impl>& impl_of(const Dataset& data) {
  return DatasetInternals::of(data);
}

}  // namespace headrace
