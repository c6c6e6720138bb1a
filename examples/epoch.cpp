// One shuffled epoch from C++: how many jets of each class, and how full their particle lists are.
//   epoch 'train_*.h5'
#include <headrace/headrace.h>

#include <cstdio>
#include <map>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: epoch 'train_*.h5'\n", stderr);
    return 2;
  }
  const auto jets = headrace::open(argv[1], {.fields = {{"x", "feature_matrix"}, {"y", "labels"}}});
  headrace::Loader loader(jets, {.batch = headrace::Samples{512},
                                 .order = headrace::BlockShuffle{},
                                 .seed = 7,
                                 .memory = headrace::mebibytes(512)});
  std::map<std::int64_t, std::uint64_t> jets_of_class;
  std::uint64_t zeros = 0;
  std::uint64_t values = 0;
  for (const headrace::Batch& batch : loader) {
    for (const auto label : batch["y"].as<std::int64_t>()) ++jets_of_class[label];
    for (const float value : batch["x"].as<float>()) zeros += value == 0.0F;
    values += batch["x"].as<float>().size();
  }
  for (const auto& [label, count] : jets_of_class) {
    std::printf("class %2lld: %llu jets\n", static_cast<long long>(label), static_cast<unsigned long long>(count));
  }
  std::printf("%.1f %% of the particle features are padding\n%s\n",
              100.0 * static_cast<double>(zeros) / static_cast<double>(values), loader.report().text().c_str());
  return 0;
} catch (const headrace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
