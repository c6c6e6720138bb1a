// A call into the engine that takes a while: without the GIL, with progress for the caller, and stopped by Ctrl-C.
#pragma once

#include <headrace/error.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "bind/register.h"
#include "bind/without_gil.h"

namespace headrace::python {

/// A Python callable (or None) as the progress function of one call. What the callable raises, and Ctrl-C, stop the
/// call and are raised again by run() once the engine has come to its end. Stay in place while the call runs.
class Progress {
 public:
  /// \param tick  Calls closer than this to the one before are answered without Python, except the last.
  explicit Progress(nb::object callable, std::chrono::milliseconds tick = {})
      : callable_(std::move(callable)), tick_(tick) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Return what the engine calls now and then, without the GIL: true to go on.
  std::function<bool(std::uint64_t, std::uint64_t)> function() {
    return [this](std::uint64_t done, std::uint64_t total) { return goes_on(done, total); };
  }
  /// Return the same for calls that do not count.
  std::function<bool()> uncounted() {
    return [this] { return goes_on(0, 1); };
  }
  /// Return what `work` returns, which is called without the GIL. What the callable raised comes first: before the
  /// error that `work` ends with on being stopped, and also where the last call raised and `work` came to its end.
  template <class Work>
  auto run(Work&& work) {
    std::optional<std::invoke_result_t<Work>> result;
    try {
      const WithoutGil nogil;
      result.emplace(work());
    } catch (const Error&) {
      if (!raised_) throw;
    }
    if (raised_) throw nb::python_error(std::move(*raised_));
    return std::move(*result);
  }

 private:
  bool goes_on(std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < tick_ && done < total) return true;
    last_ = now;
    const WithGil gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (callable_.is_none()) return true;
      const nb::object answer = callable_(done, total);
      return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return false;
    }
  }

  nb::object callable_;
  std::chrono::milliseconds tick_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::optional<nb::python_error> raised_;
};

}  // namespace headrace::python
