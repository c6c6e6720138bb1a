#include "bind/loader_handle.h"

#include <fmt/format.h>
#include <headrace/bytes.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "bind/text.h"
#include "bind/without_gil.h"

namespace headrace::python {
namespace {

/// Batches held beyond the budget are worth a warning from this part of it on.
constexpr std::uint64_t kSmallShare = 16;

/// Every loader that may be alive. Guarded by the GIL; never destroyed, as loaders may go after static objects.
std::vector<std::weak_ptr<LoaderHandle>>& living() {
  static auto* handles = new std::vector<std::weak_ptr<LoaderHandle>>;
  return *handles;
}

/// May read a label, and takes 100 ms a million rows. Ctrl-C stops it.
Loader loader_of(const Dataset& dataset, const LoaderOptions& options) {
  Progress reporter{nb::none()};
  const auto go_on = reporter.uncounted();
  return reporter.run([&] { return Loader(dataset, options, go_on); });
}

}  // namespace

LoaderHandle::LoaderHandle(const Dataset& dataset, const LoaderOptions& options, Framework framework,
                           BatchFormat format)
    : loader_(loader_of(dataset, options)),
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
  Turn turn(*this, "iter()");
  Progress reporter{nb::none()};
  return turn.run(reporter, [&](const auto& function) { return loader_.epoch([&] { return function(0, 1); }); });
}

Loader::Epoch LoaderHandle::epoch_of(const Loader::Place& place) {
  check_process();
  const Turn turn(*this, "next()");
  return loader_.epoch_of(place);
}

void LoaderHandle::close() {
  if (forked()) return;
  closing_ = true;
  Turn::close_now(*this);
}

/// Close the engine: with the turn, or where no thread will ever have it again.
void LoaderHandle::close_engine() noexcept {
  try {
    const WithoutGil nogil;
    loader_.close();
  } catch (const std::exception&) {  // out of memory: its destructor tries again
  }
}

bool LoaderHandle::forked() const {
  return made_by_ != getpid();
}

void LoaderHandle::check_process() const {
  if (!forked()) return;
  throw Error(ErrorCode::kForked, "this loader was made in the parent process, and threads do not survive a fork")
      .with_hint("Make the loader in the child, or start the child with the 'spawn' method.");
}

Report LoaderHandle::report() {
  Report report = loader_.report();
  if (python_batches_ > 0)
    report.stages.push_back({"python", static_cast<double>(python_ns_) * 1e-9, python_batches_, 0});
  return report;
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
  nb::module_::import_("headrace._support.logging").attr("warn")(to_python(text), rank_);
}

void LoaderHandle::warn_of_notices() {
  const std::vector<std::string> notices = loader_.notices();
  while (notices_told_ < notices.size()) warn(notices[notices_told_++]);
}

void LoaderHandle::warn_if_held() {
  const std::uint64_t held = loader_.held_over_bytes();
  if (held == held_seen_) return;  // a report costs more than a look
  held_seen_ = held;
  const Report::Memory memory = loader_.report().memory;
  if (memory.held_over_bytes < memory.budget_bytes / kSmallShare) return;  // the labels of an epoch, for example
  next_look_ = 0;
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
  for (const auto& handle : handles) handle->closing_ = true;  // all of them, before the first is waited for
  for (const auto& handle : handles)
    if (!handle->forked() && !Turn::close_now(*handle)) handle->close_engine();
}

}  // namespace headrace::python
