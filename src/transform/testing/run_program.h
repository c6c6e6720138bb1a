// A program on rows in memory, as an engine runs it on a batch.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "transform/program.h"

namespace headrace::testing {

using Arrays = std::vector<std::vector<std::byte>>;

inline std::vector<Program::Column> columns_of(const std::vector<Field>& fields) {
  std::vector<Program::Column> columns;
  for (const Field& field : fields)
    columns.push_back({{field.name, field.path, field.dtype, field.dims.row_shape()}, false});
  return columns;
}

/// Return the fields of a batch. \param columns  The rows of each of the program's columns. Row i is sample i.
inline Arrays run_program(const Program& program, const Arrays& columns, std::size_t rows, SampleKey key) {
  Arrays slot;
  std::vector<std::byte*> arrays;
  for (const auto* fields : {&program.fields(), &program.staged_fields()})
    for (const Field& field : *fields) slot.emplace_back(rows * field.row_bytes(), std::byte{0xCD});
  for (auto& array : slot) arrays.push_back(array.data());
  for (std::size_t i = 0; i < program.needed().size(); ++i) {
    const std::size_t bytes = program.columns()[program.needed()[i]].stored.row_bytes();
    const std::vector<std::byte>& from = columns[program.needed()[i]];
    for (key.sample = 0; key.sample < rows; ++key.sample) {
      const std::byte* row = from.data() + key.sample * bytes;
      const Program::Target& target = program.target(i);
      if (!target.row)
        std::memcpy(arrays[target.array] + key.sample * bytes, row, bytes);
      else
        EXPECT_TRUE(target.row->run(key, {&row, 1}, arrays.data(), key.sample).ok());
    }
  }
  for (const Program::Staged& staged : program.staged())
    for (key.sample = 0; key.sample < rows; ++key.sample) {
      std::vector<const std::byte*> row;
      for (std::size_t c = 0; c < staged.arrays.size(); ++c)
        row.push_back(arrays[staged.arrays[c]] + key.sample * staged.row_bytes[c]);
      EXPECT_TRUE(staged.program->run(key, row, arrays.data(), key.sample).ok());
    }
  slot.resize(program.fields().size());
  return slot;
}

}  // namespace headrace::testing
