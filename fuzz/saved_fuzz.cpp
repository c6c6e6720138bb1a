// Reads arbitrary bytes as what Headrace writes for itself: the manifest of a cache of decoded rows, the progress of an
// unfinished tokenize, and a loader's state, which a loader then goes to. What is taken is written again and read the
// same. The input: u8 kind (0: a manifest without its last line, the checksum; 1: progress; 2: a state), then the text.
#include <headrace/loader.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "cache/directory/cache_manifest.h"
#include "corpus/progress_file.h"
#include "dataset/testing/fake_source.h"
#include "loader/position.h"

namespace headrace {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

void read_manifest(std::string text) {
  (void)CacheManifest::parse(text);
  const auto manifest = CacheManifest::parse(ManifestText::sealed(std::move(text)));
  if (!manifest.ok()) return;
  const std::string written = manifest->to_json();
  const auto again = CacheManifest::parse(written);
  if (manifest->created.empty()) return;  // the time of writing is put there
  expect(again.ok() && again->to_json() == written);
  expect(again->rows == manifest->rows && again->num_blocks == manifest->num_blocks);
  expect(again->sample == manifest->sample && again->blocks.has_value() == manifest->blocks.has_value());
  expect(!describe_difference(*again, {manifest->sources}, manifest->layout));
}

void read_progress(const std::string& text) {
  const std::string settings = R"({"files": ["a.jsonl"]})";
  const auto progress = corpora::parse_progress(text, settings);
  if (!progress.ok()) return;
  const std::string written = corpora::progress_text(settings, *progress);
  const auto again = corpora::parse_progress(written, settings);
  expect(again.ok() && corpora::progress_text(settings, *again) == written);
  expect(again->place.file == progress->place.file && again->place.offset == progress->place.offset &&
         again->place.line == progress->place.line && again->tokens == progress->tokens &&
         again->documents == progress->documents && again->text_bytes == progress->text_bytes &&
         again->in_document == progress->in_document && again->skipped == progress->skipped &&
         again->first_skipped == progress->first_skipped && again->output == progress->output);
}

/// A loader that has not begun to load.
std::unique_ptr<Loader> loader_of(const Order& order) {
  const LoaderOptions options{.batch = Samples{10}, .order = order, .memory = 1 << 20, .threads = 1};
  return std::make_unique<Loader>(testing::fake_dataset({130, 75, 40}, {{20, 16}, {3, 64}}), options);
}

/// Let a loader go to a state, of its own data: it says the same state afterwards, or had refused it and is where it
/// was. \return False if it has another order from then on, the state's.
bool go_to(Loader& loader, LoaderState state) {
  const std::string before = loader.state();
  state.data = parse_state(before)->data;  // no input has its hash
  try {
    loader.load_state(state.json());
  } catch (const Error&) {
    expect(loader.state() == before);
    return true;
  }
  const bool is_end = state.position.samples == state.rows;
  if (is_end && state.position.epoch == kLastEpoch) return false;
  const auto now = parse_state(loader.state());
  expect(now.ok() && now->rows == state.rows && now->order == state.order && now->steps == state.steps);
  expect(now->position == (is_end ? Position{state.position.epoch + 1, 0} : state.position));
  if (now->order != parse_state(before)->order) return false;
  loader.load_state(before);
  return true;
}

void read_state(const std::string& text) {
  const auto state = parse_state(text);
  if (!state.ok()) return;
  const std::string written = state->json();
  const auto again = parse_state(written);
  expect(again.ok() && again->json() == written && again->data == state->data && again->position == state->position);
  expect(again->rows == state->rows && again->order == state->order && again->steps == state->steps);
  expect(again->seed == state->seed && again->global_batch == state->global_batch);
  const bool can_go_on = state->global_batch > 0 && state->position.samples <= state->rows;
  expect(check_state(*state, *again).ok() == can_go_on);
  (void)lanes_of(state->steps);
  static std::unique_ptr<Loader> loaders[3];
  const Order orders[] = {InOrder{}, BlockShuffle{}, ExactShuffle{}};
  for (std::size_t i = 0; i < 3; ++i) {
    const Order& order = orders[i];
    std::unique_ptr<Loader>& loader = loaders[i];
    if (!loader) loader = loader_of(order);
    if (!go_to(*loader, *state)) loader.reset();
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) headrace::read_manifest(text);
  if (data[0] % 3 == 1) headrace::read_progress(text);
  if (data[0] % 3 == 2) headrace::read_state(text);
  return 0;
}
