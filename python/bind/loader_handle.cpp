#include "bind/loader_handle.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bind/text.h"
#include "bind/without_gil.h"

namespace headrace::python {
namespace {

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Every loader that may be alive. Guarded by the GIL; never destroyed, as loaders may go after static objects.
std::vector<std::weak_ptr<LoaderHandle>>& living() {
  static auto* handles = new std::vector<std::weak_ptr<LoaderHandle>>;
  return *handles;
}

}  // namespace

void Turn::take() {
  while (true) {
    {
      const WithoutGil nogil;
      if (lock_.try_lock_for(kSlice)) return;
    }
    check_signals();
  }
}

void Turn::yield() {
  lock_.unlock();
  check_signals();
  take();
}

LoaderHandle::LoaderHandle(const Dataset& dataset, const LoaderOptions& options, Framework framework,
                           BatchFormat format)
    : loader_(
          without_gil([&] { return Loader(dataset, options); })),  // may read a label, and takes 100 ms a million rows
      exporter_(loader_.fields(), framework, format, loader_.batch_rows()),
      rank_(options.rank.value_or(0)),
      made_by_(getpid()) {}

std::shared_ptr<LoaderHandle> LoaderHandle::make(const Dataset& dataset, const LoaderOptions& options,
                                                 Framework framework, BatchFormat format) {
  auto handle = std::make_shared<LoaderHandle>(dataset, options, framework, format);
  std::erase_if(living(), [](const std::weak_ptr<LoaderHandle>& other) { return other.expired(); });
  living().push_back(handle);
  return handle;
}

LoaderHandle::~LoaderHandle() {
  if (forked()) return;
  const WithoutGil nogil;  // a read that hangs must not stop other Python threads
  loader_.close();
}

Loader::Epoch LoaderHandle::start_epoch() {
  check_process();
  const Turn turn(*this);
  const WithoutGil nogil;
  return loader_.epoch();
}

void LoaderHandle::close() {
  if (forked()) return;
  closing_ = true;
  const Turn turn(*this);
  const WithoutGil nogil;
  loader_.close();
}

bool LoaderHandle::forked() const {
  return made_by_ != getpid();
}

void LoaderHandle::check_process() const {
  if (!forked()) return;
  throw Error(ErrorCode::kForked, "this loader was made in the parent process, and threads do not survive a fork")
      .with_hint("Make the loader in the child, or start the child with the 'spawn' method.");
}

void LoaderHandle::count_batch() {
  if (batches_ == next_look_) {
    next_look_ = batches_ + std::min<std::uint64_t>(batches_, 64);  // not each time
    warn_if_held();
  }
  if (loader_.num_notices() != notices_told_) warn_of_notices();
  ++batches_;
}

void LoaderHandle::warn(const std::string& text) const {
  nb::module_::import_("headrace._logging").attr("warn")(to_python(text), rank_);
}

void LoaderHandle::warn_of_notices() {
  const std::vector<std::string> notices = loader_.notices();
  while (notices_told_ < notices.size()) warn(notices[notices_told_++]);
}

void LoaderHandle::warn_if_held() {
  if (loader_.held_over_bytes() == 0) return;
  next_look_ = 0;
  const Report::Memory memory = loader_.report().memory;
  warn(fmt::format(
      "batches that the program holds take {} beyond the loader's budget of {}. They stay valid, and loading goes on, "
      "but this memory comes on top. Drop batches after use, or give the loader less memory.",
      format_bytes(memory.held_over_bytes), format_bytes(memory.budget_bytes)));
}

void LoaderHandle::close_all() {
  std::vector<std::shared_ptr<LoaderHandle>> handles;
  for (const std::weak_ptr<LoaderHandle>& handle : living()) {
    if (auto alive = handle.lock()) handles.push_back(std::move(alive));
  }
  for (const auto& handle : handles) handle->close();
}

}  // namespace headrace::python
