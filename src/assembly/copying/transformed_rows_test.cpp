// However rows lie in a source and whatever is wanted of them: with a transform, the same rows go to the same places
// and count in the digest in the same way as without one.
#include "assembly/copying/transformed_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstring>
#include <numeric>

#include "assembly/copying/row_copy.h"
#include "assembly/copying/sink.h"

namespace headrace {
namespace {

constexpr std::size_t kElements = 3, kPlaces = 64;

std::shared_ptr<const Program> twice_and_one(bool is_ragged) {
  const std::vector<Program::Column> columns{{{"x", "x", {DType::Kind::kFloat, 4}, {kElements}}, false, is_ragged}};
  return *Program::make(columns, {{"Affine", {"x"}, {{"scale", 2.0}, {"shift", 1.0}}},
                                  {"Cast", {"x"}, {{"dtype", std::string("float64")}}}});
}

/// Rows in memory as a source may have them: element e of row r is 10 r + e, whatever lies between.
struct MadeSource {
  std::vector<std::byte> bytes;
  FieldRows rows;
  RowGeometry geometry;
  MadeSource(std::uint64_t first_row, std::uint64_t count, std::size_t stride_elements, std::size_t step,
             std::size_t unaligned_bytes, bool repeated)
      : bytes(unaligned_bytes + (count * stride_elements + kElements * step) * sizeof(float) + 8) {
    for (std::uint64_t r = 0; r < count; ++r)
      for (std::size_t e = 0; e < kElements; ++e) {
        const auto value = static_cast<float>(10 * (repeated ? 0 : first_row + r) + e);
        std::memcpy(bytes.data() + unaligned_bytes + (r * stride_elements + e * step) * sizeof(float), &value,
                    sizeof(value));
      }
    geometry = row_box({kElements}, {kElements}, {0}, {0}, {kElements}, step * sizeof(float), 0, sizeof(float));
    rows.rows = {bytes.data() + unaligned_bytes, repeated ? 0 : stride_elements * sizeof(float), first_row, count};
    if (step > 1) rows.geometry = &geometry;
    rows.weight = 7;
    rows.counts_rows = true;
  }
};

/// A slot of two batches of kPlaces rows, each of kElements of T.
template <class T>
struct Slot {
  static constexpr T kUntouched = 12345;
  std::vector<T> values = std::vector<T>(2 * kPlaces * kElements, kUntouched);
  std::array<std::byte*, 2> starts{reinterpret_cast<std::byte*>(values.data()),
                                   reinterpret_cast<std::byte*>(values.data() + kPlaces * kElements)};
  std::array<RowDigest, 2> digests;
  std::vector<RowRun> runs(std::uint32_t first_end, std::uint32_t end) {
    return {{&starts[0], 0, first_end, 1000, &digests[0]}, {&starts[1], first_end, end, 5000, &digests[1]}};
  }
};

void expect_same(const Slot<float>& plain, const Slot<double>& made) {
  for (std::size_t i = 0; i < plain.values.size(); ++i) {
    const bool touched = plain.values[i] != Slot<float>::kUntouched;
    RC_ASSERT(made.values[i] == (touched ? 2.0 * plain.values[i] + 1 : Slot<double>::kUntouched));
  }
  for (std::size_t b = 0; b < 2; ++b) {
    RC_ASSERT(made.digests[b].placed == plain.digests[b].placed);
    RC_ASSERT(made.digests[b].sums == plain.digests[b].sums);
  }
}

MadeSource any_source(bool may_repeat) {
  const auto small = [](std::uint64_t end) { return *rc::gen::inRange<std::uint64_t>(0, end); };
  const std::size_t step = 1 + small(2), gap = small(3), unaligned = small(8);
  return {small(20), 1 + small(40), kElements * step + gap, step, unaligned, may_repeat && small(4) == 0};
}

struct Sinks {
  explicit Sinks(bool is_ragged) : program(twice_and_one(is_ragged)) {}
  std::shared_ptr<const Program> program;
  std::vector<StoredColumn> columns{program->columns()[0].stored};
  Sink plain{columns}, made{columns, program};
};

TEST(TransformedRows, GoWhereTheRowsWouldGo) {
  const Sinks one_by_one(false), in_runs(true);
  EXPECT_TRUE(rc::check([&] {
    const Sinks& sinks = *rc::gen::arbitrary<bool>() ? one_by_one : in_runs;
    const bool moved = *rc::gen::arbitrary<bool>();
    const MadeSource source = any_source(moved);  // one row in the place of many is wanted by moves
    const std::uint64_t first_row = *rc::gen::inRange<std::uint64_t>(0, 10);
    Slot<float> plain;
    Slot<double> made;
    std::vector<Request> requests;
    std::vector<Move> moves;
    if (moved) {
      std::uint32_t row = 0;
      for (std::uint64_t place = 0; place + 6 < kPlaces;) {
        const auto count = *rc::gen::inRange<std::uint32_t>(1, 6);
        const auto run = *rc::gen::inRange<std::uint32_t>(0, 2);
        moves.push_back({row, count, place, run});
        row += count + *rc::gen::inRange<std::uint32_t>(0, 4), place += count;
      }
    } else {
      for (std::uint32_t place = 0; place < 40; ++place)
        requests.push_back({*rc::gen::inRange<std::uint32_t>(0, 70), place % 20});
    }
    const auto wanted = [&](const std::vector<RowRun>& runs) { return Wanted{requests, moves, runs, 6}; };
    const auto half = static_cast<std::uint32_t>(requests.size() / 2), all = half * 2;
    const auto plain_runs = plain.runs(half, all), made_runs = made.runs(half, all);
    const SinkWork copied = sinks.plain.put(0, source.rows, first_row, wanted(plain_runs));
    finish_streaming();
    const SinkWork work = sinks.made.put(0, source.rows, first_row, wanted(made_runs));
    RC_ASSERT(work.written_bytes == 2 * copied.written_bytes);  // double for float
    RC_ASSERT(work.failures.empty());
    RC_CLASSIFY(copied.written_bytes > 0);
    expect_same(plain, made);
  }));
}

TEST(TransformedRows, AreGatheredFromAnywhere) {
  const Sinks sinks(false);
  EXPECT_TRUE(rc::check([&] {
    const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, 60), first_row = *rc::gen::inRange(0, 9);
    const MadeSource source(first_row, count, kElements, 1, 0, false);
    std::vector<std::uint64_t> numbers(*rc::gen::inRange<std::size_t>(1, 50)), distances;
    for (std::uint64_t& number : numbers) number = *rc::gen::inRange<std::uint64_t>(0, count);
    if (*rc::gen::arbitrary<bool>())
      for (const std::uint64_t number : numbers) distances.push_back(number % 5);
    const std::uint64_t place = *rc::gen::inRange<std::uint64_t>(0, 14);
    Slot<float> plain;
    Slot<double> made;
    const RowsAt from = source.rows.rows;
    RC_ASSERT(sinks.plain.gather({&from, 1}, numbers, distances, place, plain.runs(0, 0)[0]).empty());
    finish_streaming();
    RC_ASSERT(sinks.made.gather({&from, 1}, numbers, distances, place, made.runs(0, 0)[0]).empty());
    expect_same(plain, made);
  }));
}

/// What a transform cannot take is told by the row, or by the place, and costs no other row.
TEST(TransformedRows, TellWhichRowsFailed) {
  const std::vector<Program::Column> columns{{{"y", "y", {DType::Kind::kInt, 4}, {}}, false}};
  const auto program = *Program::make(columns, {{"OneHot", {"y"}, {{"classes", std::int64_t{10}}}}});
  const Sink sink({columns[0].stored}, program);
  std::vector<std::int32_t> labels(20);
  std::iota(labels.begin(), labels.end(), 0);  // from 10 on none
  const RowsAt from{reinterpret_cast<const std::byte*>(labels.data()), sizeof(labels[0]), 100, labels.size()};
  std::vector<std::byte> slot(30 * program->fields()[0].row_bytes());
  std::byte* start = slot.data();
  RowDigest digest;
  const RowRun run{&start, 0, 3, 0, &digest};
  const auto rows_of = [](const std::vector<RowFailure>& failures) {
    std::vector<std::uint64_t> rows;
    for (const RowFailure& f : failures) {
      EXPECT_EQ(f.rows.count, 1u);
      rows.push_back(f.rows.first);
    }
    return rows;
  };
  const std::vector<Request> requests{{12, 0}, {9, 1}, {25, 2}};  // counted from row 90: 102, 99 (not here), 115
  const std::vector<Request> here{{12, 0}, {19, 1}, {25, 2}};     // 102, 109, 115
  EXPECT_EQ(rows_of(sink.put(0, {from}, 90, {requests, {}, {&run, 1}}).failures), (std::vector<std::uint64_t>{25}));
  EXPECT_EQ(rows_of(sink.put(0, {from}, 90, {here, {}, {&run, 1}}).failures), (std::vector<std::uint64_t>{25}));
  const std::vector<Move> moves{{18, 4, 3, 0}};  // 108 to 111
  EXPECT_EQ(rows_of(sink.put(0, {from}, 90, {{}, moves, {&run, 1}, 4}).failures), (std::vector<std::uint64_t>{20, 21}));
  EXPECT_EQ(rows_of(sink.gather({&from, 1}, std::vector<std::uint64_t>{3, 11, 4, 19}, {}, 5, run)),
            (std::vector<std::uint64_t>{6, 8}));
}

/// Rows of a ragged field are taken by runs, of which the sample fails that has one.
TEST(TransformedRows, TellWhichRunFailed) {
  const std::vector<Program::Column> columns{{{"y", "y", {DType::Kind::kInt, 4}, {}}, false, true}};
  const auto program = *Program::make(columns, {{"OneHot", {"y"}, {{"classes", std::int64_t{10}}}}});
  const Sink sink({columns[0].stored}, program);
  std::vector<std::int32_t> labels(20);
  std::iota(labels.begin(), labels.end(), 0);  // from 10 on none
  const RowsAt from{reinterpret_cast<const std::byte*>(labels.data()), sizeof(labels[0]), 100, labels.size()};
  std::vector<std::byte> slot(30 * program->fields()[0].row_bytes());
  std::byte* start = slot.data();
  RowDigest digest;
  const RowRun run{&start, 0, 0, 0, &digest};
  const std::vector<Move> moves{{10, 4, 0, 0}, {18, 4, 4, 0}};  // rows 100 to 103, and 108 to 111
  const SinkWork work = sink.put(0, {from}, 90, {{}, moves, {&run, 1}, 4});
  ASSERT_EQ(work.failures.size(), 1u);
  EXPECT_EQ(work.failures[0].rows.first, 18u);
  EXPECT_EQ(work.failures[0].rows.count, 4u);
}

}  // namespace
}  // namespace headrace
