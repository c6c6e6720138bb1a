#include "format/tokens/megatron_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "format/tokens/number_stream.h"

namespace headrace::token_files {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr std::string_view kOldMagic("TNTIDX\0\0", 8);
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kVersionAt = 9, kCodeAt = 17, kSequencesAt = 18, kMarksAt = 26;

/// Types by their code, of which 6 and 7 are float64 and float32.
constexpr std::array<std::optional<DType>, 9> kTypes{std::nullopt,
                                                     DType{DType::Kind::kUInt, 1},
                                                     DType{DType::Kind::kInt, 1},
                                                     DType{DType::Kind::kInt, 2},
                                                     DType{DType::Kind::kInt, 4},
                                                     DType{DType::Kind::kInt, 8},
                                                     std::nullopt,
                                                     std::nullopt,
                                                     DType{DType::Kind::kUInt, 2}};

constexpr std::string_view kTogether = "The .bin and the .idx are written together: are both of one run, and whole?";

Error index_damaged(const std::string& path, std::string what, ByteRange bytes, std::string_view hint = kTogether) {
  return Error(ErrorCode::kCorruptData, std::move(what))
      .with_file(path)
      .with_bytes(bytes)
      .with_stage("index")
      .with_hint(hint);
}

class MegatronDocuments final : public DocumentIndex {
 public:
  MegatronDocuments(MegatronIndex index, std::uint64_t tokens) : index_(std::move(index)), tokens_(tokens) {}
  [[nodiscard]] std::uint64_t size() const override { return index_.marks - 1; }

  [[nodiscard]] Status read(const AddDocument& add) const override {
    const std::uint64_t width = index_.dtype.itemsize;
    NumberStream<std::int32_t> lengths(*index_.file, index_.lengths_at(), index_.sequences);
    NumberStream<std::int64_t> pointers(*index_.file, index_.pointers_at(), index_.sequences);
    NumberStream<std::int64_t> marks(*index_.file, index_.marks_at(), index_.marks);
    HEADRACE_TRY(marks.next());  // 0, as was checked
    std::uint64_t sequence = 0, token = 0;
    for (std::uint64_t document = 0; document < size(); ++document) {
      HEADRACE_ASSIGN(const std::int64_t mark, marks.next());
      if (mark < static_cast<std::int64_t>(sequence) || mark > static_cast<std::int64_t>(index_.sequences))
        return index_damaged(index_.path,
                             fmt::format("document {} ends with sequence {}, where {} to {} is possible", document,
                                         mark, sequence, index_.sequences),
                             marks.place());
      const std::uint64_t first = token;
      for (; sequence < static_cast<std::uint64_t>(mark); ++sequence) {
        HEADRACE_ASSIGN(const std::int32_t length, lengths.next());
        HEADRACE_ASSIGN(const std::int64_t pointer, pointers.next());
        if (length < 0 || static_cast<std::uint64_t>(length) > tokens_ - token)
          return index_damaged(
              index_.path,
              fmt::format("sequence {} has {} tokens, where 0 to {} is possible", sequence, length, tokens_ - token),
              lengths.place());
        if (pointer != static_cast<std::int64_t>(token * width))
          return index_damaged(
              index_.path,
              fmt::format("sequence {} begins at byte {} of the .bin, and the one before it ends at {}", sequence,
                          pointer, token * width),
              pointers.place());
        token += static_cast<std::uint64_t>(length);
      }
      add(first, token);
    }
    if (token == tokens_) return {};
    return index_damaged(
        index_.path, fmt::format("the lengths of its sequences make {} tokens, and the .bin has {}", token, tokens_),
        {index_.lengths_at(), 4 * index_.sequences});
  }

 private:
  const MegatronIndex index_;
  const std::uint64_t tokens_;
};

}  // namespace

bool is_megatron_index(std::span<const std::byte> head) {
  return head.size() >= kMagic.size() && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

std::uint8_t megatron_code(const DType& dtype) {
  const auto found = std::ranges::find(kTypes, std::optional(dtype));
  return found == kTypes.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(found - kTypes.begin());
}

std::string megatron_header(const DType& dtype, std::uint64_t sequences, std::uint64_t marks) {
  std::string header(kMagic);
  const auto add = [&](std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) header.push_back(static_cast<char>(number >> 8 * byte & 0xFF));
  };
  add(kVersion);
  header.push_back(static_cast<char>(megatron_code(dtype)));
  add(sequences);
  add(marks);
  return header;
}

Result<MegatronIndex> open_megatron_index(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  MegatronIndex index{std::move(file), path, {}};
  const std::uint64_t size = index.file->size();
  std::array<std::byte, MegatronIndex::kHeaderBytes> head{};
  const std::span<std::byte> there = std::span(head).first(std::min<std::uint64_t>(head.size(), size));
  HEADRACE_TRY(index.file->read_at(0, there));
  if (!is_megatron_index(there)) {
    const bool old =
        there.size() >= kOldMagic.size() && std::memcmp(head.data(), kOldMagic.data(), kOldMagic.size()) == 0;
    if (old)
      return Error(ErrorCode::kUnsupported, "an index of fairseq's older format (TNTIDX)")
          .with_file(path)
          .with_stage("index")
          .with_hint("Write the data anew with Megatron's preprocess_data.py.");
    return index_damaged(path, "the file does not begin as Megatron's indexes do (MMIDIDX)",
                         {0, std::min<std::uint64_t>(size, kMagic.size())});
  }
  if (there.size() < head.size())
    return index_damaged(path, fmt::format("{} bytes, and the header alone has {}", size, head.size()), {0, size});
  HEADRACE_ASSIGN(const std::uint64_t version, number_at<std::uint64_t>(*index.file, kVersionAt));
  if (version != kVersion)
    return Error(ErrorCode::kUnsupported, fmt::format("version {} of the index, 1 is known", version))
        .with_file(path)
        .with_bytes({kVersionAt, 8})
        .with_stage("index");
  const auto code = static_cast<std::uint8_t>(head[kCodeAt]);
  if (code == 0 || code >= kTypes.size())
    return index_damaged(path, fmt::format("code {} of a type, 1 to 8 are known", code), {kCodeAt, 1});
  if (!kTypes[code])
    return Error(ErrorCode::kUnsupported,
                 fmt::format("tokens of type {}, where whole numbers are expected", code == 6 ? "float64" : "float32"))
        .with_file(path)
        .with_bytes({kCodeAt, 1})
        .with_stage("index");
  index.dtype = *kTypes[code];
  HEADRACE_ASSIGN(index.sequences, number_at<std::uint64_t>(*index.file, kSequencesAt));
  HEADRACE_ASSIGN(index.marks, number_at<std::uint64_t>(*index.file, kMarksAt));
  const std::uint64_t lists = size - head.size();
  const bool fits = index.sequences <= lists / 12 && index.marks <= (lists - 12 * index.sequences) / 8;
  if (!fits)
    return index_damaged(
        path,
        fmt::format("{} bytes are too few for the lists of {} sequences and {} marks of documents: it was "
                    "cut short",
                    size, index.sequences, index.marks),
        {kSequencesAt, 16});
  const std::uint64_t end = index.marks_at() + 8 * index.marks, behind = size - end;
  index.has_modes = behind > 0 && behind == index.sequences;
  if (behind > 0 && !index.has_modes)
    return index_damaged(
        path,
        fmt::format("{} bytes follow its lists; the modes of {} sequences would be as many", behind, index.sequences),
        {end, behind});
  return index;
}

Result<std::shared_ptr<const DocumentIndex>> open_megatron_documents(const MegatronIndex& index,
                                                                     std::uint64_t bin_bytes,
                                                                     const std::string& bin_path) {
  const RandomAccessFile& file = *index.file;
  const std::uint64_t width = index.dtype.itemsize, last = index.sequences - 1;
  if (index.sequences == 0 || index.marks < 2)
    return index_damaged(index.path,
                         fmt::format("{} sequences and {} marks of documents for {} bytes in {}", index.sequences,
                                     index.marks, bin_bytes, bin_path),
                         {kSequencesAt, 16});
  const auto expect = [&](std::string_view what, std::uint64_t at, std::int64_t number) -> Status {
    HEADRACE_ASSIGN(const std::int64_t found, number_at<std::int64_t>(file, at));
    if (found == number) return {};
    return index_damaged(index.path, fmt::format("{} is {}, where {} is expected", what, found, number), {at, 8});
  };
  HEADRACE_TRY(expect("the place of the first sequence", index.pointers_at(), 0));
  HEADRACE_TRY(expect("the first mark of documents", index.marks_at(), 0));
  HEADRACE_TRY(expect("the last mark of documents", index.marks_at() + 8 * (index.marks - 1),
                      static_cast<std::int64_t>(index.sequences)));
  HEADRACE_ASSIGN(const std::int32_t length, number_at<std::int32_t>(file, index.lengths_at() + 4 * last));
  HEADRACE_ASSIGN(const std::int64_t pointer, number_at<std::int64_t>(file, index.pointers_at() + 8 * last));
  const bool ends_there = length >= 0 && pointer >= 0 && static_cast<std::uint64_t>(pointer) <= bin_bytes &&
                          bin_bytes - static_cast<std::uint64_t>(pointer) == static_cast<std::uint64_t>(length) * width;
  if (!ends_there)
    return index_damaged(index.path,
                         fmt::format("the last sequence is {} tokens of {} bytes from byte {} on, but {} has {} bytes",
                                     length, width, pointer, bin_path, bin_bytes),
                         {index.pointers_at() + 8 * last, 8});
  return std::shared_ptr<const DocumentIndex>(std::make_shared<MegatronDocuments>(index, bin_bytes / width));
}

}  // namespace headrace::token_files
