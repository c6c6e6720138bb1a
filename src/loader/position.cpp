#include "loader/position.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/read_json.h"
#include "dataset/recipe/refuse.h"
#include "order/sampler.h"

namespace headrace {
namespace {

constexpr std::uint64_t kVersion = 2;
constexpr std::uint32_t kStateStreams = 1 << 16, kStatePoolBlocks = 1 << 20;  // of a state; as many streams as options

Error differs(std::string_view what, const std::string& state, const std::string& here, std::string_view hint) {
  return refuse(fmt::format("the state does not fit this loader: {} is {} in the state, {} here", what, state, here),
                hint);
}

/// Are they the files of the state, as far as four hashes can tell?
Status check_files(const DataIdentity& state, const DataIdentity& here) {
  const bool names = state.names == here.names, contents = state.contents == here.contents;
  if (names && contents) return {};
  const std::string_view what =
      state.files == here.files ? "they are the same files in another order"
      : names                   ? "the files have the names of that run, and another content (sizes, or bytes)"
      : contents                ? "the files have the content of that run, and other names"
                                : "the files are others: neither their names nor their content are those of that run";
  return refuse(fmt::format("the state does not fit this loader: {}", what),
                "Open the files of that run, in its order; or, if these are meant, go on with "
                "load_state_dict(state, accept_changed_data=True).");
}

}  // namespace

// By hand: a tree of nlohmann's that meets a failing allocation while it is taken down ends the process.
std::string LoaderState::json() const {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string text =
      fmt::format(R"({{"v":{},"data":{},"rows":{},"order":{})", kVersion, quoted(data.text()), rows, quoted(order));
  if (!steps.empty()) text += fmt::format(R"(,"steps":{})", quoted(steps));
  return text + fmt::format(R"(,"seed":{},"batch":{},"epoch":{},"samples":{}}})", seed, global_batch, position.epoch,
                            position.samples);
}

Result<LoaderState> parse_state(const std::string& json) {
  const std::string_view hint = "Give what state_dict() returned, unchanged.";
  const auto read = read_json(json);
  const nlohmann::json j = read.ok() ? *read : nlohmann::json();
  if (!j.is_object()) return refuse("the state is not a JSON object", hint);
  LoaderState state;
  std::uint64_t version = 0;
  const auto number = [&](const char* key, std::uint64_t& to) -> Status {
    if (!j.contains(key) || !j[key].is_number_unsigned())
      return refuse(fmt::format("the state has no whole number '{}'", key), hint);
    to = j[key].get<std::uint64_t>();
    return {};
  };
  const auto text = [&](const char* key, std::string& to) -> Status {
    if (!j.contains(key) || !j[key].is_string()) return refuse(fmt::format("the state has no text '{}'", key), hint);
    to = j[key].get<std::string>();
    return {};
  };
  HEADRACE_TRY(number("v", version));
  if (version != kVersion)
    return refuse(fmt::format("the state is of version {}, this is version {}", version, kVersion),
                  "Resume with the version of headrace that wrote it.");
  std::string data;
  HEADRACE_TRY(text("data", data));
  const std::optional<DataIdentity> identity = DataIdentity::parse(data);
  if (!identity) return refuse(fmt::format("'{}' is not the identity of a data set", data), hint);
  state.data = *identity;
  HEADRACE_TRY(number("rows", state.rows));
  HEADRACE_TRY(text("order", state.order));
  if (j.contains("steps")) HEADRACE_TRY(text("steps", state.steps));
  HEADRACE_TRY(number("seed", state.seed));
  HEADRACE_TRY(number("batch", state.global_batch));
  HEADRACE_TRY(number("epoch", state.position.epoch));
  if (state.position.epoch > kLastEpoch)
    return refuse(fmt::format("the state's epoch {} is past the last one, {}", state.position.epoch, kLastEpoch), hint);
  HEADRACE_TRY(number("samples", state.position.samples));
  return state;
}

Status check_state(const LoaderState& state, const LoaderState& here, bool accept_changed_data) {
  const std::string_view files = "Open the files that the state was taken with, in the same order.";
  if (state.rows != here.rows)
    return differs("the number of samples", std::to_string(state.rows), std::to_string(here.rows), files);
  if (!accept_changed_data) HEADRACE_TRY(check_files(state.data, here.data));
  if (state.data.rows != here.data.rows)
    return differs("the data (lengths of the files, their chunks, the fields, transforms)", state.data.text(),
                   here.data.text(), files);
  if (state.order != here.order && state.order.starts_with("block "))
    return refuse(
        fmt::format("the state's order is '{}', the shuffle of headrace's versions before 0.1.0; this version "
                    "shuffles otherwise ({})",
                    state.order, here.order),
        "Finish that epoch with the version that wrote the state, or go on from the beginning of an epoch with "
        "set_epoch().");
  if (state.order != here.order)
    return differs("the order", state.order, here.order,
                   fmt::format("Make the loader with the same shuffle=, shuffle_buffer= or sampler={}.",
                               state.order.starts_with("mixture")
                                   ? fmt::format(", and with batches of {} over all ranks, from which the orders of a "
                                                 "mixture's parts follow",
                                                 state.global_batch)
                                   : ""));
  if (state.steps != here.steps)
    return differs("how samples are cut into batches", state.steps.empty() ? "a fixed number" : state.steps,
                   here.steps.empty() ? "a fixed number" : here.steps,
                   "Make the loader with batches of the same kind, budget and lanes.");
  if (state.seed != here.seed)
    return differs("the seed", std::to_string(state.seed), std::to_string(here.seed),
                   fmt::format("Make the loader with seed={}.", state.seed));
  if (state.global_batch == 0) return refuse("the state's batch is 0", "Give what state_dict() returned, unchanged.");
  if (state.position.samples > here.rows)
    return refuse(
        fmt::format("the state says that {} of {} samples were handed out", state.position.samples, here.rows),
        "Give what state_dict() returned, unchanged.");
  return {};
}

std::optional<ShuffleOrder> shuffle_of(const std::string& order) {
  if (order == "exact") return ShuffleOrder{true, {}};
  constexpr std::string_view kPrefix = "mix ";
  if (!order.starts_with(kPrefix)) return std::nullopt;
  ShuffleShape shape;
  const char* const end = order.data() + order.size();
  const auto streams = std::from_chars(order.data() + kPrefix.size(), end, shape.streams);
  if (streams.ec != std::errc() || streams.ptr == end || *streams.ptr != 'x') return std::nullopt;
  const auto pool = std::from_chars(streams.ptr + 1, end, shape.pool_blocks);
  if (pool.ec != std::errc() || pool.ptr != end) return std::nullopt;
  // A state is foreign bytes, and a stream is memory: more than any loader would have is no shape.
  const bool is_usable = shape.streams >= 1 && shape.streams <= kStateStreams && shape.pool_blocks >= 1 &&
                         shape.pool_blocks <= kStatePoolBlocks &&
                         order == block_order_text({shape.streams, shape.pool_blocks});  // not "08x4"
  return is_usable ? std::optional(ShuffleOrder{false, shape}) : std::nullopt;
}

std::uint32_t lanes_of(const std::string& steps) {
  constexpr std::string_view kBefore = " lanes ";
  const std::size_t at = steps.find(kBefore);
  std::uint32_t lanes = 0;
  if (steps.starts_with("tokens ") && at != std::string::npos)
    std::from_chars(steps.data() + at + kBefore.size(), steps.data() + steps.size(), lanes);
  return lanes;
}

}  // namespace headrace
