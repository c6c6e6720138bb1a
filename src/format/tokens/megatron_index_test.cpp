#include "format/tokens/megatron_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <span>
#include <utility>

#include "storage/testing/memory_file.h"

namespace headrace::token_files {
namespace {

using Documents = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

template <class Number>
void append(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    text.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * i & 0xFF));
}

/// The text of an index. \param documents  Lengths of the sequences of each.
std::string index_text(const DType& dtype, const std::vector<std::vector<std::int32_t>>& documents) {
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> marks{0};
  for (const auto& document : documents) {
    lengths.insert(lengths.end(), document.begin(), document.end());
    marks.push_back(static_cast<std::int64_t>(lengths.size()));
  }
  std::string text = megatron_header(dtype, lengths.size(), marks.size());
  for (const std::int32_t length : lengths) append(text, length);
  std::int64_t pointer = 0;
  for (const std::int32_t length : lengths) append(text, std::exchange(pointer, pointer + length * dtype.itemsize));
  for (const std::int64_t mark : marks) append(text, mark);
  return text;
}

Result<MegatronIndex> opened(const std::string& text) {
  const auto stored = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(stored.begin(), stored.end());
  return open_megatron_index(std::make_shared<MemoryFile>("a.idx", std::move(bytes)), "a.idx");
}

Result<Documents> documents_in(const std::string& text, std::uint64_t bin_bytes) {
  HEADRACE_ASSIGN(const MegatronIndex index, opened(text));
  HEADRACE_ASSIGN(const auto documents, open_megatron_documents(index, bin_bytes, "a.bin"));
  Documents found;
  HEADRACE_TRY(documents->read([&](std::uint64_t first, std::uint64_t end) { found.emplace_back(first, end); }));
  if (found.size() != documents->size()) return Error(ErrorCode::kInternal, "another number of documents");
  return found;
}

std::vector<std::vector<std::int32_t>> some_documents() {
  return {{5, 3}, {}, {7}, {0, 2}};
}
const DType kUInt16{DType::Kind::kUInt, 2};
constexpr std::uint64_t kBinBytes = 2 * 17;

TEST(MegatronIndex, DocumentsAreRangesOfSequences) {
  const auto found = documents_in(index_text(kUInt16, some_documents()), kBinBytes);
  ASSERT_TRUE(found.ok()) << found.error().what();
  EXPECT_EQ(*found, (Documents{{0, 8}, {8, 8}, {8, 15}, {15, 17}}));
}

TEST(MegatronIndex, AnyDocumentsComeBack) {
  EXPECT_TRUE(rc::check([](std::vector<std::vector<std::uint8_t>> lengths, bool wide) {
    lengths.push_back({1});
    std::vector<std::vector<std::int32_t>> documents;
    Documents want;
    std::uint64_t token = 0;
    for (const auto& of_one : lengths) {
      documents.emplace_back(of_one.begin(), of_one.end());
      const std::uint64_t first = token;
      for (const std::uint8_t length : of_one) token += length;
      want.emplace_back(first, token);
    }
    const DType type{wide ? DType::Kind::kInt : DType::Kind::kUInt, wide ? 4u : 2u};
    const auto found = documents_in(index_text(type, documents), token * type.itemsize);
    RC_ASSERT(found.ok());
    RC_ASSERT(*found == want);
  }));
}

TEST(MegatronIndex, TypesHaveCodes) {
  for (const DType::Kind kind : {DType::Kind::kInt, DType::Kind::kUInt})
    for (const std::uint32_t bytes : {1, 2, 4, 8}) {
      const DType type{kind, bytes};
      const auto index = opened(index_text(type, some_documents()));
      ASSERT_EQ(index.ok(), megatron_code(type) != 0) << type.name();
      if (index.ok()) {
        EXPECT_EQ(index->dtype, type);
      }
    }
  EXPECT_EQ(megatron_code({DType::Kind::kUInt, 4}), 0);
}

TEST(MegatronIndex, ModesAreTolerated) {
  const auto index = opened(index_text(kUInt16, some_documents()) + std::string(5, '\0'));
  ASSERT_TRUE(index.ok());
  EXPECT_TRUE(index->has_modes);
  EXPECT_FALSE(opened(index_text(kUInt16, some_documents()) + std::string(4, '\0')).ok());
}

TEST(MegatronIndex, AnIndexThatWasCutIsRefusedAndLocated) {
  const std::string text = index_text(kUInt16, some_documents());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto index = opened(text.substr(0, size));
    ASSERT_FALSE(index.ok()) << size;
    EXPECT_EQ(index.error().code(), ErrorCode::kCorruptData) << size;
    EXPECT_EQ(index.error().file(), "a.idx") << size;
  }
}

/// Whatever a bit says, what is found lies in the tokens, or there is an error.
TEST(MegatronIndex, AFlippedBitIsAnErrorOrOtherDocuments) {
  const std::string text = index_text(kUInt16, some_documents());
  const Documents want = *documents_in(text, kBinBytes);
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      const auto found = documents_in(damaged, kBinBytes);
      if (!found.ok()) {
        EXPECT_NE(found.error().code(), ErrorCode::kInternal) << at;
        continue;
      }
      EXPECT_GE(at, text.size() - 5 * 8) << "only marks may say another thing without contradiction";
      EXPECT_EQ(found->back().second, want.back().second);
    }
}

TEST(MegatronIndex, CountsThatOverflowAreTooMany) {
  std::string text = index_text(kUInt16, some_documents());
  for (const std::size_t at : {std::size_t{18}, std::size_t{26}})
    for (const int bit : {5, 6, 7}) {
      std::string damaged = text;
      damaged[at + 7] = static_cast<char>(1 << bit);  // times 12 or 8 it is small again
      const auto index = opened(damaged);
      ASSERT_FALSE(index.ok());
      EXPECT_EQ(index.error().bytes(), (ByteRange{18, 16}));
    }
}

}  // namespace
}  // namespace headrace::token_files
