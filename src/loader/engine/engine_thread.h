// What one decode thread of an Engine owns.
#pragma once

#include <optional>
#include <vector>

#include "loader/engine/engine.h"

namespace headrace {

/// Used by its thread alone, but for counters.
struct Engine::DecodeThread {
  DecodeCounters counters;
  std::optional<BlockServer> server;  // of blocks of rows
  std::optional<PartServer> parts;    // of mapped samples
  Claim claim;
  std::vector<RowRun> runs;
  std::vector<RowDigest> digests;
  std::vector<RowFailure> failures;
  std::optional<RowFailure> failed;  // the whole claim, instead of `failures`: setting it needs no memory
  DecodeThread(StageClock& clock, const SampleSource& source, const BlockLayout& layout, const ResidentArrays& resident,
               SideChunks& side_chunks)
      : counters(clock) {
    if (const MappedSource* const mapped = source.mapped())
      parts.emplace(*mapped, counters);
    else
      server.emplace(*source.rows(), layout, resident, side_chunks, counters);
  }
  Status prepare() { return parts ? parts->prepare() : server->prepare(); }
  void release() { parts ? parts->release() : server->release(); }
};

}  // namespace headrace
