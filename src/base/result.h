// Result<T>: a value or an Error, inside the engine and across its threads. At the C++ edge value() throws the Error.
#pragma once

#include <headrace/error.h>

#include <utility>
#include <variant>

namespace headrace {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  [[nodiscard]] Error& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

  /// Return the value, or throw the Error.
  T value() && {
    if (!ok()) throw error();
    return std::move(**this);
  }
  T& value() & {
    if (!ok()) throw error();
    return **this;
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] Error& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }
  void value() const {
    if (!ok()) throw error();
  }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

// The only two macros: hand an error on, or go on with the value.
#define HEADRACE_CAT_(a, b) a##b
#define HEADRACE_CAT(a, b) HEADRACE_CAT_(a, b)
#define HEADRACE_TRY(expr) \
  if (auto headrace_status_ = (expr); !headrace_status_.ok()) return std::move(headrace_status_.error())
#define HEADRACE_ASSIGN_(result, decl, expr)          \
  auto result = (expr);                               \
  if (!result.ok()) return std::move(result.error()); \
  decl = std::move(*result)
#define HEADRACE_ASSIGN(decl, expr) HEADRACE_ASSIGN_(HEADRACE_CAT(headrace_result_, __LINE__), decl, expr)

}  // namespace headrace
