#include "format/hdf5/chunk_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headrace::hdf5 {
namespace {

herr_t read_recorded(hid_t dataset, const hsize_t* offset, std::uint32_t* mask) {
  std::array<char, 16> untouched{};  // the driver records and leaves the buffer alone
#if H5_VERSION_GE(2, 0, 0)
  std::size_t room = SIZE_MAX;  // with less, HDF5 2 answers with the size and skips the read we want to see
  return H5Dread_chunk2(dataset, H5P_DEFAULT, offset, mask, untouched.data(), &room);
#else
  return H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, untouched.data());
#endif
}

class Probe {
 public:
  Probe(DriverState& state, hid_t dataset) : state_(state), dataset_(dataset) {}
  ~Probe() { state_.tape.on = false; }

  enum class Answer { kHere, kAbsent, kNonsense };
  Answer ask(const hsize_t* offset, ChunkPlace& place) {
    state_.tape = {.on = true};
    std::uint32_t mask = 0;
    const herr_t status = read_recorded(dataset_, offset, &mask);
    state_.tape.on = false;
    if (status < 0) return Answer::kAbsent;  // or damaged: the count tells
    if (state_.tape.reads != 1) return Answer::kNonsense;
    place = {state_.tape.address, state_.tape.size, mask};
    return Answer::kHere;
  }

 private:
  DriverState& state_;
  hid_t dataset_;
};

Error damaged(std::string why) {
  return std::move(Error(ErrorCode::kCorruptData, "the chunk index is damaged: " + std::move(why)).with_stage("index"));
}

}  // namespace

Result<ChunkIndex> ChunkIndex::read(const Session& session, DriverState& state, hid_t dataset,
                                    const DatasetInfo& info) {
  std::uint64_t cells = 1;
  for (const std::uint64_t g : info.grid) cells *= g;  // bounded by kGridLimit when described
  const Id space(H5Dget_space(dataset));               // HDF5 1.10.8 refuses H5S_ALL below
  hsize_t written = 0;
  if (cells > 0 && H5Dget_num_chunks(dataset, space.get(), &written) < 0) {
    if (state.read_error) return std::move(state.read_error->with_stage("index"));
    return damaged(last_library_error(session).text());
  }
  if (written > cells) return damaged(fmt::format("it has {} chunks in a grid of {}", written, cells));
  if (written > state.file->size())
    return damaged(fmt::format("it has {} chunks in a file of {} bytes", written, state.file->size()));

  ChunkIndex index;
  const bool sparse = written < cells / 4;
  if (sparse) {
    index.cells_.reserve(written);
    index.places_.reserve(written);
  } else {
    index.dense_.resize(cells);
  }
  Probe probe(state, dataset);
  const std::vector<std::uint64_t>&shape = info.array.shape, &chunk = info.array.chunk_shape;
  std::array<hsize_t, H5S_MAX_RANK> offset{};
  std::uint64_t found = 0;
  for (std::uint64_t cell = 0; cell < cells && found < written; ++cell) {
    ChunkPlace place;
    switch (probe.ask(offset.data(), place)) {
      case Probe::Answer::kHere:
        ++found;
        if (sparse) {
          index.cells_.push_back(cell);
          index.places_.push_back(place);
        } else {
          index.dense_[cell] = place;
        }
        break;
      case Probe::Answer::kAbsent:
        break;
      case Probe::Answer::kNonsense:
        return damaged(fmt::format("chunk number {} has no bytes", cell));
    }
    for (std::size_t d = shape.size(); d-- > 0;) {
      if ((offset[d] += chunk[d]) < shape[d]) break;
      offset[d] = 0;
    }
  }
  if (found != written) {
    if (state.read_error) return std::move(state.read_error->with_stage("index"));
    return damaged(fmt::format("{} of its {} chunks cannot be found through it", written - found, written));
  }
  return index;
}

ChunkPlace ChunkIndex::at(std::uint64_t cell) const {
  if (!dense_.empty()) return dense_[cell];
  const auto it = std::lower_bound(cells_.begin(), cells_.end(), cell);
  if (it == cells_.end() || *it != cell) return {};
  return places_[static_cast<std::size_t>(it - cells_.begin())];
}

}  // namespace headrace::hdf5
