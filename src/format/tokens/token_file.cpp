#include "format/tokens/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "format/npy/npy_entries.h"
#include "format/tokens/foreign_bytes.h"
#include "format/tokens/megatron_index.h"
#include "format/tokens/number_stream.h"
#include "format/tokens/token_type.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

constexpr std::uint64_t kLookBytes = 1 << 20;  // of each file, when it is opened
constexpr std::uint64_t kTextBytes = 1 << 16;  // of them, those that tell text
constexpr std::string_view kSayWidth =
    "Give dtype=\"u2\" (what nanoGPT writes), dtype=\"u4\", or vocab_size=: below 65,536 ids are u2, else u4.";

Error refused_file(ErrorCode code, const std::string& path, std::string what, std::string_view hint) {
  return Error(code, std::move(what)).with_file(path).with_stage("open").with_hint(hint);
}

Result<std::shared_ptr<RandomAccessFile>> open_bytes_of(const std::string& path) {
  auto file = FileSystem::of(path).open(path);
  if (!file.ok()) file.error().with_file(path).with_stage("open");
  return file;
}

bool is_there(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile;
}

/// What a .npy header would say of so many bytes of numbers.
Result<npy::NpyHeader> raw_header(const DType& dtype, std::uint64_t bytes) {
  npy::Literal descr;
  descr.kind = npy::Literal::Kind::kText;
  descr.text = fmt::format("<{}{}", dtype.kind == DType::Kind::kInt ? 'i' : 'u', dtype.itemsize);
  npy::NpyHeader header;
  HEADRACE_ASSIGN(header.type, npy::parse_type(descr));
  header.shape = {bytes / dtype.itemsize};
  header.value_bytes = bytes;
  return header;
}

/// Set the array of a file that has nothing but numbers.
Status set_raw(TokenFile& out, std::shared_ptr<RandomAccessFile> file) {
  const std::uint64_t size = file->size(), width = out.dtype.itemsize, rest = size % width;
  if (rest != 0)
    return refused_file(ErrorCode::kCorruptData, out.path,
                        fmt::format("{} bytes are no whole number of {} tokens: {} of {} bytes, and {} more", size,
                                    out.dtype.name(), size / width, width, rest),
                        "Another dtype, or a copy that was cut short?")
        .with_bytes({size - rest, rest});
  HEADRACE_ASSIGN(npy::NpyHeader header, raw_header(out.dtype, size));
  out.values = {0, size};
  npy::NpyValues values{std::move(file), out.path, out.values};
  ArrayInfo info = npy::describe(kTokensName, header, values);
  out.array = npy::open_npy_array(std::move(info), std::move(header), std::move(values));
  return {};
}

Status check_said(const TokenFile& file, const TokenWords& words, std::string_view says) {
  if (words.dtype && *words.dtype != file.dtype)
    return refused_file(ErrorCode::kInvalidArgument, file.path,
                        fmt::format("dtype is {}, but {} says {}", words.dtype->name(), says, file.dtype.name()),
                        "Leave dtype out: it is read from the files.");
  return {};
}

Result<std::shared_ptr<const TokenManifest>> manifest_for(const std::string& path, Manifests& manifests) {
  const std::string folder = folder_of(path);
  const auto [place, fresh] = manifests.try_emplace(folder);
  if (fresh && is_token_folder(folder)) {
    HEADRACE_ASSIGN(TokenManifest manifest, read_token_manifest(folder));
    place->second = std::make_shared<const TokenManifest>(std::move(manifest));
  }
  return place->second;
}

/// Set what a manifest says of one of its shards.
Status set_shard(TokenFile& out, const TokenManifest& manifest, const TokenShard& shard) {
  out.kind = FileKind::kHeadrace;
  out.vocab_size = manifest.vocab_size;
  out.tokenizer = manifest.tokenizer;
  out.tokenizer_hash = manifest.tokenizer_hash;
  const std::string folder = folder_of(out.path);
  if (shard.crc32c) out.checksums.push_back({out.path, *shard.crc32c});
  if (shard.ends_crc32c) out.checksums.push_back({path_in(folder, shard.ends), *shard.ends_crc32c});
  if (out.dtype != manifest.dtype || out.tokens() != shard.tokens)
    return refused_file(ErrorCode::kCorruptData, out.path,
                        fmt::format("{} tokens of {}, and the manifest says {} of {}", out.tokens(), out.dtype.name(),
                                    shard.tokens, manifest.dtype.name()),
                        fmt::format("Compare it with {}.", path_in(folder, TokenManifest::kFileName)));
  if (shard.ends.empty()) return {};
  const std::string ends_path = path_in(folder, shard.ends);
  HEADRACE_ASSIGN(auto file, open_bytes_of(ends_path));
  auto ends = npy::open_npy_entry(file, ends_path, "ends");
  if (!ends.ok()) return std::move(ends.error().with_file(ends_path).with_stage("documents"));
  const ArrayInfo& info = ends->info;
  const DType type = info.columns.empty() ? DType{} : info.columns[0].dtype;
  const bool is_list = info.shape.size() == 1 && !info.is_record && type.itemsize == 8 &&
                       ends->header.type.swaps.empty() &&
                       (type.kind == DType::Kind::kUInt || type.kind == DType::Kind::kInt);
  if (!is_list || info.rows() != shard.documents)
    return refused_file(ErrorCode::kCorruptData, ends_path,
                        fmt::format("the ends of {} documents as uint64 are expected", shard.documents),
                        fmt::format("Compare it with {}.", path_in(folder, TokenManifest::kFileName)));
  const std::uint64_t offset = ends->header.header_bytes;
  HEADRACE_ASSIGN(out.documents,
                  open_document_ends({std::move(file), ends_path, offset, shard.documents}, out.tokens()));
  return {};
}

Status open_numpy(TokenFile& out, std::shared_ptr<RandomAccessFile> file, const TokenWords& words,
                  Manifests& manifests) {
  out.kind = FileKind::kNumpy;
  auto entry = npy::open_npy_entry(std::move(file), out.path, kTokensName);
  if (!entry.ok()) return std::move(entry.error().with_file(out.path).with_stage("open"));
  const ArrayInfo& info = entry->info;
  const bool is_whole =
      !info.is_record && info.columns.size() == 1 &&
      (info.columns[0].dtype.kind == DType::Kind::kUInt || info.columns[0].dtype.kind == DType::Kind::kInt);
  if (info.read_path == ReadPath::kUnsupported || !is_whole || info.shape.size() != 1 ||
      !info.columns[0].inner_shape.empty())
    return refused_file(
        ErrorCode::kInvalidArgument, out.path,
        info.read_path == ReadPath::kUnsupported
            ? info.reason
            : fmt::format("an array of {} axes of {}, where tokens are one axis of "
                          "whole numbers",
                          info.shape.size(), info.columns.empty() ? "records" : info.columns[0].dtype.name()),
        "hr.open takes any array.");
  if (info.rows() == 0)
    return refused_file(ErrorCode::kCorruptData, out.path, "the file has no tokens", "Leave it out.");
  out.dtype = info.columns[0].dtype;
  out.values = entry->values.stored;
  out.notice = info.notice;
  HEADRACE_TRY(check_said(out, words, "the file"));
  out.array = npy::open_npy_array(entry->info, entry->header, entry->values);
  HEADRACE_ASSIGN(const auto manifest, manifest_for(out.path, manifests));
  if (manifest == nullptr) return {};
  const std::string name = out.path.substr(out.path.rfind('/') + 1);
  const auto shard = std::ranges::find(manifest->shards, name, &TokenShard::file);
  return shard == manifest->shards.end() ? Status() : set_shard(out, *manifest, *shard);
}

Status open_pair(TokenFile& out, std::shared_ptr<RandomAccessFile> file, const std::string& idx_path,
                 const TokenWords& words) {
  out.kind = FileKind::kMegatron;
  HEADRACE_ASSIGN(auto idx_file, open_bytes_of(idx_path));
  HEADRACE_ASSIGN(const MegatronIndex index, open_megatron_index(std::move(idx_file), idx_path));
  out.dtype = index.dtype;
  HEADRACE_TRY(check_said(out, words, idx_path));
  HEADRACE_ASSIGN(out.documents, open_megatron_documents(index, file->size(), out.path));
  return set_raw(out, std::move(file));
}

/// What datatrove's .metadata says: the tokenizer's name, in newer versions with "|" and the bytes of a token.
struct DatatroveMetadata {
  std::string tokenizer = {};
  std::uint64_t width = 0;  ///< 0: not said.
};

Result<DatatroveMetadata> read_datatrove_metadata(const std::string& path) {
  DatatroveMetadata found;
  HEADRACE_ASSIGN(const auto file, open_bytes_of(path));
  constexpr std::uint64_t kMostText = 64 << 10;
  std::string text(std::min(kMostText, file->size()), '\0');
  HEADRACE_TRY(file->read_at(0, std::as_writable_bytes(std::span(text))));
  found.tokenizer = text.substr(0, text.find('\n'));
  const std::size_t bar = found.tokenizer.rfind('|');
  if (bar == std::string::npos) return found;
  const std::string width = found.tokenizer.substr(bar + 1);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), bytes);
  if (error != std::errc() || end != width.data() + width.size()) return found;  // a part of the name
  if (bytes != 2 && bytes != 4)
    return refused_file(ErrorCode::kCorruptData, path, fmt::format("tokens of {} bytes, 2 or 4 are known", bytes), "");
  found.tokenizer.resize(bar);
  found.width = bytes;
  return found;
}

Status open_datatrove(TokenFile& out, std::shared_ptr<RandomAccessFile> file, const TokenWords& words) {
  out.kind = FileKind::kDatatrove;
  const std::string index_path = out.path + ".index", metadata_path = out.path + ".metadata";
  const std::uint64_t bytes = file->size();
  std::uint64_t width = words.dtype ? words.dtype->itemsize : 0, count = 0, last = 0;
  std::shared_ptr<RandomAccessFile> index;
  if (is_there(metadata_path)) {
    HEADRACE_ASSIGN(DatatroveMetadata metadata, read_datatrove_metadata(metadata_path));
    out.tokenizer = std::move(metadata.tokenizer);
    if (metadata.width > 0 && width > 0 && width != metadata.width)
      return refused_file(
          ErrorCode::kInvalidArgument, out.path,
          fmt::format("dtype is {}, but {} says {} bytes a token", words.dtype->name(), metadata_path, metadata.width),
          "Leave dtype out: it is read from the files.");
    if (metadata.width > 0) width = metadata.width;
  }
  if (is_there(index_path)) {
    HEADRACE_ASSIGN(index, open_bytes_of(index_path));
    const std::uint64_t rest = index->size() % 8;
    if (index->size() == 0 || rest != 0)
      return refused_file(ErrorCode::kCorruptData, index_path,
                          fmt::format("{} bytes are no list of 64-bit ends of documents", index->size()),
                          "Was it cut short?")
          .with_bytes({index->size() - rest, rest});
    count = index->size() / 8;
    HEADRACE_ASSIGN(last, number_at<std::uint64_t>(*index, 8 * (count - 1)));
    // The width that makes the last document end with the file, where nothing else says it.
    if (width == 0 && (last == bytes / 2 || last == bytes / 4) && last > 0) width = last == bytes / 2 ? 2 : 4;
  }
  if (width == 0 && words.vocab_size > 0) width = token_type_for(words.vocab_size).itemsize;
  if (width == 0)
    return refused_file(ErrorCode::kInvalidArgument, out.path,
                        "the size of its tokens is unknown: there is neither .ds.metadata nor .ds.index beside it",
                        kSayWidth);
  out.dtype = words.dtype ? *words.dtype : DType{DType::Kind::kUInt, static_cast<std::uint32_t>(width)};
  HEADRACE_TRY(set_raw(out, std::move(file)));
  if (index == nullptr) return {};
  HEADRACE_ASSIGN(out.documents, open_document_ends({std::move(index), index_path, 0, count}, out.tokens()));
  return {};
}

Status open_raw(TokenFile& out, std::shared_ptr<RandomAccessFile> file, const TokenWords& words) {
  if (!words.dtype && words.vocab_size == 0)
    return refused_file(ErrorCode::kInvalidArgument, out.path,
                        "the size of its tokens is unknown: a raw file does not record it", kSayWidth);
  out.dtype = words.dtype ? *words.dtype : token_type_for(words.vocab_size);
  return set_raw(out, std::move(file));
}

/// Compare the vocabulary that was said with what the files say, and what they say with what the type holds.
Status settle_vocabulary(TokenFile& file, std::uint64_t said) {
  if (said > 0 && said < file.vocab_size)
    return refused_file(ErrorCode::kInvalidArgument, file.path,
                        fmt::format("vocab_size is {}, but the manifest says {}", said, file.vocab_size),
                        "Give as many or more, or leave vocab_size out: it is read from the files.");
  if (file.vocab_size == 0) file.vocab_size = said;
  if (file.vocab_size > 0 && file.vocab_size - 1 > largest_of(file.dtype))
    return refused_file(ErrorCode::kInvalidArgument, file.path,
                        fmt::format("a vocabulary of {} does not fit in {}, which ends at {}: larger ids would have "
                                    "wrapped when they were written",
                                    file.vocab_size, file.dtype.name(), largest_of(file.dtype)),
                        "Check dtype and vocab_size. If both are right, write the tokens anew with a wider dtype.");
  return {};
}

/// Refuse text, which any reader of raw numbers would take. Tokens of a byte may be text.
Status refuse_text(const std::string& path, const RandomAccessFile& bytes, const TokenWords& words) {
  if (words.dtype && words.dtype->itemsize == 1) return {};
  std::vector<std::byte> start(std::min(kTextBytes, bytes.size()));
  HEADRACE_TRY(bytes.read_at(0, start));
  if (!is_text(start)) return {};
  return refused_file(ErrorCode::kInvalidArgument, path, "this is text, and no file of tokens",
                      "hr.open_text(files, tokenizer=) tokenises text, once.");
}

/// Compare what was read first with what is known of the tokens.
Status look_at_start(TokenFile& file, const RandomAccessFile& bytes, const TokenWords& words) {
  const bool says_itself = file.kind != FileKind::kRaw && file.kind != FileKind::kDatatrove;
  const bool is_unsigned = file.dtype.kind == DType::Kind::kUInt;
  if (file.vocab_size > 0 || !is_unsigned)
    HEADRACE_TRY(check_ids(file, {0, std::min(file.tokens(), kLookBytes / file.dtype.itemsize)}));
  if (says_itself) return {};
  std::vector<std::byte> start(std::min(kLookBytes, file.values.size));
  HEADRACE_TRY(bytes.read_at(file.values.offset, start));
  std::string doubt = width_doubt(file.dtype, start);
  if (doubt.empty()) return {};
  if (file.kind == FileKind::kRaw && !words.dtype)  // the vocabulary's size was all that told the type
    return refused_file(ErrorCode::kCorruptData, file.path, std::move(doubt),
                        "Say which it is: dtype=\"u4\", dtype=\"i8\", or, if it is right, dtype=\"u2\".");
  file.notice = std::move(doubt) + " dtype= says it";
  return {};
}

}  // namespace

Result<TokenFile> open_token_file(const std::string& path, const TokenWords& words, Manifests& manifests) {
  TokenFile out;
  out.path = path;
  HEADRACE_ASSIGN(const std::shared_ptr<RandomAccessFile> file, open_bytes_of(path));
  out.fingerprint = file->fingerprint();
  if (file->size() == 0)
    return refused_file(ErrorCode::kCorruptData, path, "the file is empty",
                        "Its copy or its writer failed? Else leave it out.");
  constexpr std::uint64_t kHead = 64;
  std::array<std::byte, kHead> head{};
  const std::span<std::byte> start = std::span(head).first(std::min(kHead, file->size()));
  HEADRACE_TRY(file->read_at(0, start));
  if (npy::is_npy(start)) {
    HEADRACE_TRY(open_numpy(out, file, words, manifests));
  } else if (const std::string_view foreign = foreign_name(start); !foreign.empty()) {
    return refused_file(ErrorCode::kInvalidArgument, path, fmt::format("this is {}", foreign),
                        "hr.open takes files of rows; of other formats, write the numbers of their tokens to a file.");
  } else if (const std::string idx = path.substr(0, path.size() - 4) + ".idx";
             path.ends_with(".bin") && is_there(idx)) {
    HEADRACE_TRY(open_pair(out, file, idx, words));
  } else if (path.ends_with(".ds")) {
    HEADRACE_TRY(refuse_text(path, *file, words));
    HEADRACE_TRY(open_datatrove(out, file, words));
  } else {
    HEADRACE_TRY(refuse_text(path, *file, words));
    HEADRACE_TRY(open_raw(out, file, words));
  }
  HEADRACE_TRY(settle_vocabulary(out, words.vocab_size));
  HEADRACE_TRY(look_at_start(out, *file, words));
  out.vocab_size = std::max(out.vocab_size, words.vocab_size);  // a model may have more ids than its tokenizer
  return out;
}

Result<std::shared_ptr<FormatReader>> open_megatron(const std::string& idx_path) {
  const std::size_t stem = idx_path.ends_with(".idx") ? idx_path.size() - 4 : idx_path.size();
  const std::string path = idx_path.substr(0, stem) + ".bin";
  HEADRACE_ASSIGN(const std::shared_ptr<RandomAccessFile> numbers, open_bytes_of(path));
  Manifests none;
  HEADRACE_ASSIGN(const TokenFile opened, open_token_file(path, {}, none));
  npy::Entry entry;
  entry.info = opened.array->info();
  HEADRACE_ASSIGN(entry.header, raw_header(opened.dtype, opened.values.size));
  entry.values = {numbers, path, opened.values};
  entry.values.is_beside = true;
  std::vector<npy::Entry> entries;
  entries.push_back(std::move(entry));
  HEADRACE_ASSIGN(std::shared_ptr<RandomAccessFile> index, open_bytes_of(idx_path));
  const std::string name = fmt::format("Megatron .bin and .idx ({} documents)", opened.documents->size());
  return npy::make_npy_reader(name, idx_path, std::move(index), std::move(entries));
}

}  // namespace headrace::token_files
