#include "tools/bench/bench_measured.h"

#include "tools/bench/bench_report.h"
#include "tools/machine.h"

namespace headrace {

Json bench_frame_json(const Dataset& dataset) {
  std::vector<std::string> paths;
  for (const FileEntry& file : dataset.files()) paths.push_back(file.path);
  Json frame = {{"schema", kBenchSchema},
                {"headrace", versions().front().second},
                {"machine", machine_json()},
                {"samples", dataset.size()},
                {"sample_bytes", dataset.sample_bytes()},
                {"page_cache", page_cache_json(look_into_page_cache(paths))}};
  return frame;
}

std::string bench_frame(const Dataset& dataset) {
  Json frame = bench_frame_json(dataset);
  frame["contestants"] = Json::array();
  return dump(frame);
}

Json bench_contestant(const Loader& loader, const std::string& split) {
  return {{"name", "headrace"},
          {"title", loader.options().order.is_shuffle() ? "Headrace, shuffled" : "Headrace, in order"},
          {"split", split},
          {"batch_size", usual_batch(loader)},
          {"samples", loader.dataset().size()}};
}

Json bench_round(std::uint64_t round, const std::vector<BenchPass>& passes) {
  Json json = {{"round", round}, {"first", nullptr}, {"later", nullptr}};
  if (!passes.empty()) json["first"] = pass_json(passes.front());
  if (passes.size() > 1 && passes.front().complete)
    json["later"] = pass_json(joined({passes.begin() + 1, passes.end()}));
  return json;
}

}  // namespace headrace
