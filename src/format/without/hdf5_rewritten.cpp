// In place of format/hdf5/writing/rewritten_file.cpp in a build without libhdf5 (HEADRACE_WITH_HDF5=OFF): nothing can
// be written.
#include "format/hdf5/writing/rewritten_file.h"

namespace headrace::hdf5 {
namespace {

Error without_hdf5() {
  return Error(ErrorCode::kUnsupported, "this build cannot write HDF5 files")
      .with_hint("Install libhdf5-dev and build with -DHEADRACE_WITH_HDF5=ON.");
}

}  // namespace

struct RewrittenFile::State {
  std::vector<std::string> nothing;
};

RewrittenFile::RewrittenFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
RewrittenFile::~RewrittenFile() = default;

Result<std::unique_ptr<RewrittenFile>> RewrittenFile::create(const std::string& /*source*/, const std::string& /*path*/,
                                                             std::vector<NewArray> /*arrays*/) {
  return without_hdf5();
}
Result<std::unique_ptr<RewrittenFile>> RewrittenFile::reopen(const std::string& /*path*/,
                                                             const PageJournal& /*journal*/,
                                                             std::vector<NewArray> /*arrays*/) {
  return without_hdf5();
}
Status RewrittenFile::write_chunk(std::size_t /*array*/, std::uint64_t /*first_row*/, const EncodedChunk& /*chunk*/) {
  return without_hdf5();
}
Status RewrittenFile::write_rows(std::size_t /*array*/, std::uint64_t /*first_row*/, std::uint64_t /*rows*/,
                                 std::span<const std::byte> /*bytes*/) {
  return without_hdf5();
}
Status RewrittenFile::save(const std::string& /*journal*/, const std::string& /*state*/) {
  return without_hdf5();
}
Status RewrittenFile::close(const std::string& /*journal*/, const std::string& /*state*/) {
  return without_hdf5();
}
const std::vector<std::string>& RewrittenFile::copied() const {
  return state_->nothing;
}
const std::vector<std::string>& RewrittenFile::notes() const {
  return state_->nothing;
}

void to_stored(const StoredForm& /*form*/, std::uint64_t /*element_bytes*/, std::span<std::byte> /*elements*/) {}

Result<std::vector<StoredForm>> stored_forms(const std::string& /*file*/, const std::vector<std::string>& /*paths*/) {
  return without_hdf5();
}

Status compare_copied(const std::string& /*source*/, const std::string& /*path*/,
                      const std::vector<std::string>& /*copied*/, const std::vector<std::string>& /*remade*/) {
  return without_hdf5();
}

}  // namespace headrace::hdf5
