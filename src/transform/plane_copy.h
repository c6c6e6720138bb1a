// Copies of lines backwards and of planes whose axes change places, several elements an instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Lines of so many elements, dense on both sides, one behind the other by these steps in bytes.
struct LineStack {
  std::uint64_t lines = 1;
  std::int64_t step_from = 0, step_to = 0;
  std::uint64_t elements = 1;
};

/// Two axes that change places: element (slow, line) of the source becomes (line, slow) of the target. Its lines are
/// dense in the source, and in the target the slow axis is.
struct Plane {
  std::uint64_t slow = 1;  ///< How many lines there are.
  std::int64_t slow_from = 0;
  std::uint64_t line = 1;    ///< Elements of a line.
  std::int64_t line_to = 0;  ///< May be negative, as `slow_from` may.
  /// Bytes in the target to the plane that is copied next; its lines are fetched meanwhile. 0: none is.
  std::int64_t next_to = 0;
};

/// Return true for elements of 1, 2, 4 or 8 bytes, which both copies take.
[[nodiscard]] constexpr bool has_lanes(std::size_t item) {
  return item == 1 || item == 2 || item == 4 || item == 8;
}
/// Copy lines, each with its elements in reverse. \param from  The first line in memory order, as `to` is.
void copy_backwards(const LineStack& stack, std::byte* to, const std::byte* from, std::size_t item);
/// Copy a plane.
void copy_plane(const Plane& plane, std::byte* to, const std::byte* from, std::size_t item);

}  // namespace headrace
