// cache build: decode everything once, into a cache directory.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include "base/clock.h"
#include "base/text/number_text.h"
#include "loader/engine/access.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {

ToolResult cache_build(Loader& loader, const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  if (loader.options().cache.mode != CacheChoice::kDirectory)
    throw Error(ErrorCode::kInvalidArgument, "no directory was given to build the cache in");
  const std::uint64_t start = now_ns();
  loader.preload(progress);
  const Report report = loader.report();
  const std::shared_ptr<DecodedCache> decoded_cache = engine_of(loader)->decoded_cache();
  const std::shared_ptr<Notices> notices = decoded_cache->notices;
  if (!report.cache.complete && notices->all(Notices::Of::kRun).empty()) {
    // A block cannot be decoded: an epoch that asks for its rows throws the reason.
    for (const Batch& batch : loader) static_cast<void>(batch);
  }
  loader.close();  // waits until it is on the disk
  const std::vector<std::string> troubles = notices->all(Notices::Of::kRun);
  if (!decoded_cache->last().complete) {
    std::vector<std::string> reasons;
    for (const std::string& trouble : troubles) reasons.push_back(DecodedCache::reason_of(trouble));
    throw Error(ErrorCode::kWriteFailed, fmt::format("the cache was not built: {}", fmt::join(reasons, "; ")))
        .with_file(loader.options().cache.directory);
  }
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  const std::uint64_t bytes = report.cache.capacity_bytes;
  const bool was_there = report.chunks_decoded == 0;
  ToolResult result;
  result.findings = !troubles.empty();
  result.text = was_there ? fmt::format("The cache of these files is in {} already: {}\n",
                                        loader.options().cache.directory, format_bytes(bytes))
                          : fmt::format("{} rows, {} decoded, in {:.1f} s ({:.2f} GB/s), into {}\n",
                                        group_digits(loader.dataset().size()), format_bytes(bytes), seconds,
                                        static_cast<double>(bytes) / seconds * 1e-9, loader.options().cache.directory);
  for (const std::string& trouble : troubles) result.text += trouble + "\n";
  result.text += fmt::format("Use it: Loader(..., cache='{}'), or --cache {}\n", loader.options().cache.directory,
                             loader.options().cache.directory);
  result.json = dump({{"directory", loader.options().cache.directory},
                      {"rows", loader.dataset().size()},
                      {"bytes", bytes},
                      {"seconds", seconds},
                      {"was_there", was_there},
                      {"notices", troubles}});
  return result;
}

}  // namespace headrace
