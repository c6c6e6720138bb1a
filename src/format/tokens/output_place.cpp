#include "format/tokens/output_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <utility>

#include "format/tokens/byte_sink.h"
#include "storage/file_system.h"

namespace headrace::token_files {

std::string kept_name(const std::string& path) {
  return path + ".unfinished";
}

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

OutputPlace::OutputPlace(std::string path, Unfinished unfinished)
    : path_(std::move(path)),
      // A writer's own, so that two do not meet, in one process or in two containers that have the same numbers.
      working_(unfinished == Unfinished::kKept
                   ? kept_name(path_)
                   : fmt::format("{}.writing-{}-{:08x}", path_, ::getpid(), std::random_device()())),
      is_kept_(unfinished == Unfinished::kKept) {}

OutputPlace::~OutputPlace() {
  if (!is_given_ && !is_kept_) remove_quietly(working_);
}

Status OutputPlace::check_free() const {
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path_).status(path_));
  return status.kind == PathKind::kNothing ? Status() : taken();
}

Error OutputPlace::taken() const {
  return Error(ErrorCode::kInvalidArgument, "something of this name is there already")
      .with_file(path_)
      .with_stage("write")
      .with_hint("Name another place, or remove it first.");
}

Result<bool> OutputPlace::take_back() const {
  HEADRACE_ASSIGN(const PathStatus whole, FileSystem::of(path_).status(path_));
  HEADRACE_ASSIGN(const PathStatus part, FileSystem::of(working_).status(working_));
  if (whole.kind == PathKind::kNothing) return false;
  if (part.kind != PathKind::kNothing) HEADRACE_TRY(check_free());
  HEADRACE_TRY(replace_name(path_, working_));
  return true;
}

Status OutputPlace::give() {
  HEADRACE_ASSIGN(const bool is_free, give_name(working_, path_));
  if (!is_free) return taken();
  is_given_ = true;
  return {};
}

}  // namespace headrace::token_files
