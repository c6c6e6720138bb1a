// Numbers of any type as float or double, and back.
#pragma once

#include <headrace/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace {

/// Return true for integers, booleans and floating point numbers.
bool is_number(const DType& type);
/// Return true if every value of the type is a float's: what is worked on as float, not as double.
bool fits_float(const DType& type);
/// Return the type that a transform's arithmetic makes of one: float64 stays, all others become float32.
DType result_type(const DType& type);
/// Return true if the type has this number, or rounds it to one: an integer is itself, and what is finite stays finite.
bool has_number(const DType& type, double value);
/// Return the type of a name: "float32", "bfloat16", "uint8", "bool", … Errors: kInvalidArgument.
Result<DType> type_of_name(std::string_view name);

/// Read `n` numbers. \param from  Aligned for the type.
template <class C>
void load_numbers(const DType& type, const std::byte* from, std::size_t n, C* to);
/// Write `n` numbers. Floating point types round to the nearest, ties to even. Integers: towards zero, and the nearest
/// limit for what lies outside; NaN is 0: ask misfit() first. Bool: true unless 0.
template <class C>
void store_numbers(const DType& type, const C* from, std::size_t n, std::byte* to);

/// Return the first of these values that store_numbers() would make another one of: NaN, for integers and bool; what
/// lies outside an integer type. nullopt: there is none. \param whole  Then also what is no whole number.
template <class C>
std::optional<C> misfit(const DType& type, std::span<const C> values, bool whole);
/// Turn `n` integers (or bools) into those of another type, exactly. \return The first that the type does not have, as
/// text; empty if all are there.
std::string cast_integers(const DType& from_type, const std::byte* from, std::size_t n, const DType& to_type,
                          std::byte* to);
/// Return true for integers and bool.
bool is_whole(const DType& type);

extern template void load_numbers(const DType&, const std::byte*, std::size_t, float*);
extern template void load_numbers(const DType&, const std::byte*, std::size_t, double*);
extern template std::optional<float> misfit(const DType&, std::span<const float>, bool);
extern template std::optional<double> misfit(const DType&, std::span<const double>, bool);
extern template void store_numbers(const DType&, const float*, std::size_t, std::byte*);
extern template void store_numbers(const DType&, const double*, std::size_t, std::byte*);

}  // namespace headrace
