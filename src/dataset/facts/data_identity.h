// What stands for the data in a state: equal for copies of the files in other places, so that a run can go on there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assembly/block_layout.h"
#include "assembly/sample_source.h"

namespace headrace {

/// Return what rows there are, in which blocks and of which fields, as 16 hexadecimal digits. Says nothing of the
/// files' names and bytes.
std::string hash_of(const SampleSource& of, const BlockLayout& layout);

/// Four short hashes, so that a mismatch can say what differs. See docs/decisions/0010-states-know-their-files.md.
struct DataIdentity {
  /// What hash_of() stands for: lengths of the files, blocks, fields, the selection; and what is done with batches.
  std::uint32_t rows = 0;
  std::uint32_t names = 0;     ///< Base names of the files and of those beside them, in their order.
  std::uint32_t contents = 0;  ///< Sizes of the files and samples of their bytes, in their order.
  std::uint32_t files = 0;     ///< Names, sizes and samples together, in any order.
  friend bool operator==(const DataIdentity&, const DataIdentity&) = default;

  /// Return 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;
  static std::optional<DataIdentity> parse(std::string_view text);
};

/// Return the identity of opened files. Reads up to 256 stretches of 512 stored bytes, spread over the files, their
/// arrays and rows; what cannot be read counts as other bytes.
DataIdentity identify(const SampleSource& source, const BlockLayout& layout);

}  // namespace headrace
