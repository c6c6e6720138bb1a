#include "format/testing/format_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "format/testing/read_rows.h"
#include "storage/testing/file_doubles.h"
#include "storage/testing/memory_file.h"

namespace headrace::testing_format {
namespace {

constexpr std::uint64_t kSaneBytes = std::uint64_t{1} << 24;  // damaged headers may claim more; it is then not read
constexpr const char* kFileName = "suite.data";

using Columns = std::vector<std::vector<std::byte>>;

/// Ranges at both ends, around the middle and in between, without a pattern that chunks could have.
std::vector<RowRange> some_ranges(std::uint64_t rows) {
  std::vector<RowRange> ranges{{0, rows}};
  for (std::uint64_t i = 1; rows > 0 && i <= 24; ++i) {
    const std::uint64_t first = i * 7919 % rows;
    ranges.push_back({first, 1});
    ranges.push_back({first, 1 + i * 104729 % (rows - first)});
  }
  if (rows > 0) ranges.push_back({rows - 1, 1});
  return ranges;
}

/// All columns whole, or the first error. Sizes that no test has are not read: the result is then empty.
Result<Columns> read_all(const ArrayReader& array) {
  const ArrayInfo& info = array.info();
  const auto beyond = [&](std::uint64_t bytes) { return bytes > kSaneBytes; };
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(info.row_record_bytes(), std::max<std::uint64_t>(info.rows(), 1), &bytes) ||
      beyond(bytes) || beyond(info.rows()) || beyond(array.scratch_need(info.rows()).out_bytes) ||
      beyond(array.scratch_need(info.rows()).filter_bytes))
    return Columns{};
  Columns columns;
  for (std::size_t column = 0; column < info.columns.size(); ++column) {
    HEADRACE_ASSIGN(std::vector<std::byte> values, read_rows(array, {0, info.rows()}, column));
    columns.push_back(std::move(values));
  }
  return columns;
}

/// A typed error that a user can act on.
void expect_good_error(const Error& error) {
  const ErrorCode code = error.code();
  EXPECT_TRUE(code == ErrorCode::kCorruptData || code == ErrorCode::kUnsupported || code == ErrorCode::kFieldMissing ||
              code == ErrorCode::kNotFound)
      << error.what();
  EXPECT_FALSE(error.message().empty());
}

class FormatTest : public testing::Test {
 public:
  using Body = void (*)(FormatTest&);
  FormatTest(std::function<FormatCase()> make, Body body) : make_(std::move(make)), body_(body) {}
  void TestBody() override {
    given = make_();
    body_(*this);
  }

  /// Open the array; fails the test if that does not work.
  [[nodiscard]] std::shared_ptr<ArrayReader> open() const {
    OpenedArray array = given.open();
    EXPECT_TRUE(array.ok()) << array.error().what();
    return array.ok() ? *array : nullptr;
  }
  /// Open other bytes in place of the file's.
  [[nodiscard]] OpenedArray open_bytes(std::vector<std::byte> bytes) const {
    return given.open_file(std::make_shared<MemoryFile>(kFileName, std::move(bytes)));
  }
  [[nodiscard]] Result<Columns> read_bytes(std::vector<std::byte> bytes) const {
    HEADRACE_ASSIGN(const std::shared_ptr<ArrayReader> array, open_bytes(std::move(bytes)));
    return read_all(*array);
  }
  [[nodiscard]] bool has_file() const { return given.open_file != nullptr; }
  /// True if pieces have the rows that were asked for and no others: rows are addressable, or chunks decoded in parts.
  [[nodiscard]] bool has_exact_pieces(const ArrayReader& array) const {
    return given.addressable || array.info().page_rows > 0;
  }

  FormatCase given;

 private:
  const std::function<FormatCase()> make_;
  const Body body_;
};

void expect_rows(const ArrayReader& array, const Columns& expected, RowRange rows) {
  for (std::size_t column = 0; column < expected.size(); ++column) {
    SCOPED_TRACE(testing::Message() << "column " << column << ", " << rows.count << " rows from " << rows.first);
    const auto values = read_rows(array, rows, column);
    ASSERT_TRUE(values.ok()) << values.error().what();
    const std::uint64_t row_bytes = row_bytes_of(array.info(), column);
    ASSERT_EQ(values->size(), rows.count * row_bytes);
    EXPECT_TRUE(std::equal(values->begin(), values->end(),
                           expected[column].begin() + static_cast<std::ptrdiff_t>(rows.first * row_bytes)));
  }
}

void describes_its_array(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  const ArrayInfo& info = array->info();
  EXPECT_FALSE(info.path.empty());
  ASSERT_FALSE(info.shape.empty());
  ASSERT_EQ(info.columns.size(), test.given.columns.size());
  EXPECT_EQ(info.is_record, !info.columns[0].name.empty());
  for (std::size_t column = 0; column < info.columns.size(); ++column) {
    EXPECT_EQ(info.rows() * row_bytes_of(info, column), test.given.columns[column].size());
    EXPECT_LE(info.columns[column].offset + info.columns[column].dtype.itemsize, info.record_bytes);
  }
  EXPECT_EQ(info.read_path == ReadPath::kNative, info.reason.empty()) << info.reason;
  EXPECT_TRUE(info.chunk_shape.empty() || info.chunk_shape.size() == info.shape.size());
  EXPECT_TRUE(info.page_rows <= info.chunk_rows());
  if (info.chunk_ends.empty()) return;
  EXPECT_EQ(info.chunk_ends.back(), info.rows());
  std::uint64_t end = 0, most = 1;
  for (const std::uint64_t next : info.chunk_ends) {
    ASSERT_GE(next, end);
    most = std::max(most, next - std::exchange(end, next));
  }
  EXPECT_EQ(info.chunk_shape.at(0), most);
}

void reads_what_was_written(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  for (const RowRange rows : some_ranges(array->info().rows())) expect_rows(*array, test.given.columns, rows);
}

void refuses_rows_past_the_end(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  const std::uint64_t rows = array->info().rows();
  std::vector<Piece> pieces;
  EXPECT_TRUE(array->locate({rows, 0}, pieces).ok());
  EXPECT_TRUE(pieces.empty());
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  for (const RowRange past :
       {RowRange{rows, 1}, RowRange{0, rows + 1}, RowRange{rows + 1, 0}, RowRange{1, kHuge}, RowRange{kHuge, 1}}) {
    const Status status = array->locate(past, pieces);
    ASSERT_FALSE(status.ok()) << past.count << " rows from " << past.first;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(pieces.empty());
  }
}

/// Pieces of a range: by ascending row, then across the row; together exactly the rows, `across` times. Those of a
/// chunk that is decoded in parts lie in the range.
void expect_tiles(const ArrayReader& array, RowRange rows, bool addressable) {
  std::vector<Piece> pieces;
  ASSERT_TRUE(array.locate(rows, pieces).ok());
  const std::uint32_t across = array.pieces_across();
  ASSERT_EQ(pieces.size() % across, 0U);
  std::uint64_t next = pieces.empty() ? rows.first : pieces[0].rows.first;
  EXPECT_LE(next, rows.first);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].across, i % across);
    EXPECT_EQ(pieces[i].rows.first, next);
    EXPECT_GT(pieces[i].rows.count, 0U);
    EXPECT_GT(pieces[i].rows.end(), rows.first);
    EXPECT_LT(pieces[i].rows.first, rows.end());
    EXPECT_LE(pieces[i].rows.end(), array.info().rows());
    EXPECT_TRUE(!addressable || pieces[i].rows == rows);
    if (i % across + 1 == across) next = pieces[i].rows.end();
  }
  EXPECT_GE(next, rows.end());
  if (array.info().page_rows == 0 || pieces.empty()) return;
  EXPECT_EQ(pieces[0].rows.first, rows.first);
  EXPECT_EQ(next, rows.end());
}

void pieces_tile_the_rows(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(array->info().chunk_shape.empty(), test.given.addressable);
  for (const RowRange rows : some_ranges(array->info().rows())) expect_tiles(*array, rows, test.given.addressable);
  for (std::size_t column = 0; column < array->info().columns.size(); ++column) {
    std::size_t filled_bytes = 0;
    for (std::uint32_t across = 0; across < array->pieces_across(); ++across)
      filled_bytes += array->geometry(across, column).filled_bytes();
    EXPECT_EQ(filled_bytes, row_bytes_of(array->info(), column));
  }
}

/// A piece is the same whatever range it was asked for with, or a part of it; and locate_written() leaves only pieces
/// out.
void pieces_do_not_depend_on_the_question(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  const std::uint64_t rows = array->info().rows();
  std::vector<Piece> all;
  ASSERT_TRUE(array->locate({0, rows}, all).ok());
  const auto same = [](const Piece& a, const Piece& b) {
    return a.id == b.id && a.rows == b.rows && a.stored == b.stored && a.decoded_bytes == b.decoded_bytes &&
           a.filter_mask == b.filter_mask && a.across == b.across;
  };
  std::vector<Piece> written;
  const auto left_out = array->locate_written({0, rows}, written);
  ASSERT_TRUE(left_out.ok()) << left_out.error().what();
  EXPECT_EQ(written.size() + *left_out, all.size());
  for (const Piece& piece : written)
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Piece& other) { return same(piece, other); }));
  if (test.given.addressable) return;
  const bool exact = test.has_exact_pieces(*array);
  const auto part_of = [&](const Piece& part, const Piece& whole) {
    return part.id == whole.id && part.stored == whole.stored && part.across == whole.across &&
           part.rows.first >= whole.rows.first && part.rows.end() <= whole.rows.end();
  };
  for (const RowRange range : some_ranges(rows)) {
    std::vector<Piece> some;
    ASSERT_TRUE(array->locate(range, some).ok());
    for (const Piece& piece : some)
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Piece& other) {
        return exact ? part_of(piece, other) : same(piece, other);
      })) << array->piece_name(piece);
  }
}

/// The chunks of a grid by number are the pieces that its rows are found in.
void cells_are_the_pieces_of_the_rows(FormatTest& test) {
  const auto array = test.open();
  ASSERT_NE(array, nullptr);
  std::vector<Piece> pieces, cells;
  ASSERT_TRUE(array->locate({0, array->info().rows()}, pieces).ok());
  const bool has_grid =
      !test.has_exact_pieces(*array) && array->info().read_path != ReadPath::kFallback && !pieces.empty();
  std::vector<std::uint64_t> ids;
  for (std::size_t i = pieces.size(); i-- > 0;) ids.push_back(pieces[i].id);
  const Status located = array->locate_cells(ids, cells);
  if (!has_grid) {
    EXPECT_TRUE(ids.empty() || located.error().code() == ErrorCode::kUnsupported);
    return;
  }
  ASSERT_TRUE(located.ok()) << located.error().what();
  ASSERT_EQ(cells.size(), pieces.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Piece& piece = pieces[pieces.size() - 1 - i];
    EXPECT_EQ(cells[i].id, piece.id);
    EXPECT_EQ(cells[i].rows, piece.rows);
    EXPECT_EQ(cells[i].across, piece.across);
    EXPECT_EQ(cells[i].stored.range, piece.stored.range);
    EXPECT_EQ(cells[i].decoded_bytes, piece.decoded_bytes);
  }
  const std::uint64_t outside[] = {pieces.size()};
  EXPECT_EQ(array->locate_cells(outside, cells).error().code(), ErrorCode::kInvalidArgument);
}

void threads_read_at_once(FormatTest& test) {
  const auto array = test.open();  // nothing has been located yet
  ASSERT_NE(array, nullptr);
  const std::vector<RowRange> ranges = some_ranges(array->info().rows());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        const RowRange rows = ranges[(i * (t + 1) + t) % ranges.size()];
        for (std::size_t column = 0; column < test.given.columns.size(); ++column) {
          const auto values = read_rows(*array, rows, column);
          const auto from = static_cast<std::ptrdiff_t>(rows.first * row_bytes_of(array->info(), column));
          wrong[t] +=
              !values.ok() || !std::equal(values->begin(), values->end(), test.given.columns[column].begin() + from);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 0));
}

// --- of one file -----------------------------------------------------------------------------------------------------

/// Most of a small file may be room for more: zeros, of which every 16th byte will do.
bool in_empty_space(const std::vector<std::byte>& bytes, std::size_t i) {
  constexpr std::size_t kAround = 64;
  if (i < kAround || i + kAround > bytes.size()) return false;
  const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(i);
  return std::all_of(at - kAround, at + kAround, [](std::byte b) { return b == std::byte{0}; });
}

void every_byte_flipped(FormatTest& test) {
  if (!test.has_file()) GTEST_SKIP() << "not made from the bytes of one file";
  const std::vector<std::byte>& good = test.given.file_bytes;
  const auto untouched = test.read_bytes(good);
  ASSERT_TRUE(untouched.ok()) << untouched.error().what();
  ASSERT_EQ(*untouched, test.given.columns);
  int noticed = 0;
  for (std::size_t i = 0; i < good.size(); i += test.given.flip_step) {
    if (in_empty_space(good, i) && i % 16 != 0) continue;
    SCOPED_TRACE(testing::Message() << "byte " << i);
    for (const unsigned flip : {0x01U, 0xFFU}) {
      std::vector<std::byte> bad = good;
      bad[i] ^= std::byte{static_cast<unsigned char>(flip)};
      const auto columns = test.read_bytes(std::move(bad));
      if (!columns.ok()) {
        ++noticed;
        expect_good_error(columns.error());
      } else if (test.given.notices_damage) {
        EXPECT_EQ(*columns, test.given.columns) << "a flipped byte went unnoticed";
      }
    }
  }
  EXPECT_GT(noticed, 0);
}

void cut_at_every_length(FormatTest& test) {
  if (!test.has_file()) GTEST_SKIP() << "not made from the bytes of one file";
  const std::vector<std::byte>& good = test.given.file_bytes;
  for (std::size_t size = 0; size<good.size(); size += good.size()> 4096 ? 7 : 1) {
    SCOPED_TRACE(testing::Message() << size << " bytes");
    const auto columns = test.read_bytes({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_FALSE(columns.ok());
    expect_good_error(columns.error());
  }
}

void every_read_fails_once(FormatTest& test) {
  if (!test.has_file()) GTEST_SKIP() << "not made from the bytes of one file";
  const auto memory = std::make_shared<MemoryFile>(kFileName, test.given.file_bytes);
  const auto read_through = [&](const std::shared_ptr<FaultyFile>& file) -> Result<Columns> {
    HEADRACE_ASSIGN(const std::shared_ptr<ArrayReader> array, test.given.open_file(file));
    return read_all(*array);
  };
  const auto counting = std::make_shared<FaultyFile>(memory, std::vector<Fault>{});
  ASSERT_TRUE(read_through(counting).ok());
  const std::uint64_t reads = counting->num_reads();
  ASSERT_GT(reads, 0U);
  int failed = 0;
  for (std::uint64_t n = 0; n < reads; ++n) {
    SCOPED_TRACE(testing::Message() << "read " << n << " of " << reads);
    const std::vector<Fault> fault{{.nth_read = n, .error = ErrorCode::kReadFailed}};
    const auto columns = read_through(std::make_shared<FaultyFile>(memory, fault));
    failed += !columns.ok();
    if (columns.ok()) {
      EXPECT_EQ(*columns, test.given.columns);  // some reads can be done without
    } else {
      EXPECT_EQ(columns.error().code(), ErrorCode::kReadFailed) << columns.error().what();
    }
  }
  EXPECT_GT(failed, 0);
}

void a_changed_file_is_noticed(FormatTest& test) {
  if (!test.has_file()) GTEST_SKIP() << "not made from the bytes of one file";
  const auto file = std::make_shared<FaultyFile>(std::make_shared<MemoryFile>(kFileName, test.given.file_bytes),
                                                 std::vector<Fault>{});
  const OpenedArray array = test.given.open_file(file);
  ASSERT_TRUE(array.ok()) << array.error().what();
  ASSERT_TRUE(read_all(**array).ok());
  std::vector<Piece> pieces;
  ASSERT_TRUE((*array)->locate({0, (*array)->info().rows()}, pieces).ok());
  file->change();
  const bool reads_something =
      (*array)->info().read_path == ReadPath::kFallback ||
      std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.stored.range.size > 0; });
  const auto columns = read_all(**array);
  ASSERT_EQ(columns.ok(), !reads_something);
  if (columns.ok()) return;
  EXPECT_EQ(columns.error().code(), ErrorCode::kFileChanged) << columns.error().what();
}

}  // namespace

void register_format_reader_tests(const std::string& format, const std::string& name,
                                  std::function<FormatCase()> make) {
  const std::pair<const char*, FormatTest::Body> tests[] = {
      {"DescribesItsArray", describes_its_array},
      {"ReadsWhatWasWritten", reads_what_was_written},
      {"RefusesRowsPastTheEnd", refuses_rows_past_the_end},
      {"PiecesTileTheRows", pieces_tile_the_rows},
      {"PiecesDoNotDependOnTheQuestion", pieces_do_not_depend_on_the_question},
      {"CellsAreThePiecesOfTheRows", cells_are_the_pieces_of_the_rows},
      {"ThreadsReadAtOnce", threads_read_at_once},
      {"EveryByteFlipped", every_byte_flipped},
      {"CutAtEveryLength", cut_at_every_length},
      {"EveryReadFailsOnce", every_read_fails_once},
      {"AChangedFileIsNoticed", a_changed_file_is_noticed},
  };
  for (const auto& [test, body] : tests)
    testing::RegisterTest((format + "/" + name).c_str(), test, nullptr, nullptr, __FILE__, __LINE__,
                          [make, body = body]() -> FormatTest* { return new FormatTest(make, body); });
}

}  // namespace headrace::testing_format
