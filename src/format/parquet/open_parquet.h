// OpenParquet: what the arrays of an open Parquet file share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/threads/fork_safe_mutex.h"
#include "format/parquet/file_metadata.h"
#include "format/parquet/leaf_column.h"
#include "format/parquet/pages/length_counter.h"
#include "storage/random_access_file.h"

namespace headrace::parquet {

/// The lists below a repeated node of the schema. Threads: it never changes once it is shared.
struct ListLengths {
  std::vector<GroupLengths> groups;  ///< One for each row group.
  MemoryReservation reservation;     ///< Their memory, out of the process's budget.
};

/// The lists of a file that were counted so far, by their node. Threads: any.
class KnownLists {
 public:
  /// Return the lists of a node; null: they were not counted yet.
  std::shared_ptr<const ListLengths> find(std::size_t node) const;
  /// Keep lists, for as long as the file is open. \return Those that are kept: where another thread was faster, its.
  std::shared_ptr<const ListLengths> keep(std::size_t node, std::shared_ptr<const ListLengths> lists) const;

 private:
  mutable ForkSafeMutex mutex_;
  mutable std::map<std::size_t, std::shared_ptr<const ListLengths>> lists_;
};

struct OpenParquet {
  std::shared_ptr<const RandomAccessFile> file;
  std::string path;
  FileMetadata metadata;
  std::vector<LeafColumn> columns;
  KnownLists lists;

  [[nodiscard]] const ColumnChunk& chunk(std::size_t group, const LeafColumn& column) const {
    return metadata.row_groups[group].columns[column.index];
  }
};

}  // namespace headrace::parquet
