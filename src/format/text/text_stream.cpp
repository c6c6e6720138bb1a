#include "format/text/text_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace headrace::text_files {
namespace {

struct Magic {
  std::string_view bytes, what, hint;
};
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";
constexpr std::array<Magic, 7> kNotText{{
    {kGzip, "gzip", "Name it so that it ends with .gz."},
    {kZstd, "zstd", "Name it so that it ends with .zst."},
    {"BZh91AY&", "bzip2", "Decompress it: bunzip2."},
    {"\xfd"
     "7zXZ",
     "xz", "Decompress it: unxz."},
    {"PK\x03\x04", "a zip archive", "Unpack it."},
    {"\xff\xfe", "UTF-16 or UTF-32", "Convert it: iconv -f UTF-16 -t UTF-8."},
    {"\xfe\xff", "UTF-16", "Convert it: iconv -f UTF-16 -t UTF-8."},
}};
constexpr std::string_view kMark = "\xef\xbb\xbf";

Status check_text(std::string_view head) {
  for (const Magic& magic : kNotText)
    if (head.starts_with(magic.bytes))
      return Error(ErrorCode::kUnsupported, fmt::format("line 1: this is {}, not text", magic.what))
          .with_stage("open")
          .with_hint(magic.hint);
  return {};
}

std::string_view view_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view plain_name(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

Result<std::unique_ptr<TextStream>> TextStream::open(std::shared_ptr<const RandomAccessFile> file) {
  std::array<std::byte, 18> head = {};
  const std::size_t size = std::min<std::uint64_t>(file->size(), head.size());
  HEADRACE_TRY(file->read_at(0, std::span(head).first(size)));
  const std::string_view start = view_of(std::span(head).first(size)), name = file->name();
  std::unique_ptr<StreamDecoder> decoder;
  const auto refuse = [&](std::string_view expected) {
    return Error(ErrorCode::kCorruptData, fmt::format("its name says {}, and it does not begin so", expected))
        .with_file(name)
        .with_stage("open")
        .with_hint("Was it decompressed under the same name? Rename it.");
  };
  if (name.ends_with(".gz")) {
    if (!start.starts_with(kGzip)) return refuse("gzip");
    HEADRACE_ASSIGN(decoder, make_gzip_stream());
  } else if (name.ends_with(".zst")) {
    const bool is_skippable = size >= 4 && start.substr(1, 3) == "\x2a\x4d\x18";
    if (!start.starts_with(kZstd) && !is_skippable) return refuse("zstd");
    HEADRACE_ASSIGN(decoder, make_zstd_stream(kMostWindowBytes));
  } else if (Status status = check_text(start); !status.ok()) {
    return std::move(status.error().with_file(name));
  }
  const bool is_zstd = decoder && name.ends_with(".zst");
  std::unique_ptr<TextStream> stream(new TextStream(std::move(file), std::move(decoder)));
  if (is_zstd) stream->window_bytes_ = std::min<std::uint64_t>(zstd_window_bytes(head), kMostWindowBytes);
  return stream;
}

Status TextStream::fill() {
  if (at_ < pending_.size() || stored_ == file_->size()) return {};
  pending_.resize(std::min<std::uint64_t>(kReadBytes, file_->size() - stored_));
  at_ = 0;
  HEADRACE_TRY(file_->read_at(stored_, pending_));
  stored_ += pending_.size();
  return {};
}

Result<std::size_t> TextStream::read_decoded(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    HEADRACE_TRY(fill());
    const std::span<const std::byte> in = std::span(pending_).subspan(at_);
    auto step = decoder_->decode(in, out.subspan(done));
    const std::uint64_t place = stored_offset();
    if (!step.ok()) return std::move(step.error().with_file(file_->name()).with_bytes({place, in.size()}));
    at_ += step->consumed;
    done += step->produced;
    if (step->consumed > 0 || step->produced > 0) continue;
    if (!in.empty()) return Error(ErrorCode::kInternal, "a stream does not go on");
    if (!decoder_->may_end())
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the compressed file ends in the middle, after {} bytes", file_->size()))
          .with_file(file_->name())
          .with_stage("decompress")
          .with_hint("It was cut short; fetch it again.");
    break;
  }
  return done;
}

Result<std::size_t> TextStream::read_some(std::span<std::byte> out) {
  if (decoder_) return read_decoded(out);
  const std::size_t size = std::min<std::uint64_t>(out.size(), file_->size() - stored_);
  HEADRACE_TRY(file_->read_at(stored_, out.first(size)));
  stored_ += size;
  return size;
}

Result<std::size_t> TextStream::read(std::span<std::byte> out) {
  const bool at_start = offset_ == 0;
  HEADRACE_ASSIGN(std::size_t size, read_some(out));
  offset_ += size;
  if (!at_start) return size;
  const std::string_view text = view_of(out.first(size));
  if (decoder_) {
    if (Status status = check_text(text); !status.ok()) return std::move(status.error().with_file(file_->name()));
  }
  if (!text.starts_with(kMark)) return size;
  std::copy(out.begin() + static_cast<std::ptrdiff_t>(kMark.size()), out.begin() + static_cast<std::ptrdiff_t>(size),
            out.begin());
  size -= kMark.size();
  HEADRACE_ASSIGN(const std::size_t more, read_some(out.subspan(size, kMark.size())));
  offset_ += more;
  return size + more;
}

Status TextStream::skip_to(std::uint64_t offset) {
  const auto ends = [&] {
    return Error(ErrorCode::kFileChanged, fmt::format("the text ends before byte {}", offset))
        .with_file(file_->name())
        .with_stage("read");
  };
  if (!decoder_) {
    if (offset > file_->size()) return ends();
    stored_ = offset_ = offset;
    return {};
  }
  std::vector<std::byte> passed(kReadBytes);
  while (offset_ < offset) {
    HEADRACE_ASSIGN(const std::size_t size,
                    read_some(std::span(passed).first(std::min<std::uint64_t>(passed.size(), offset - offset_))));
    if (size == 0) return ends();
    offset_ += size;
  }
  return {};
}

}  // namespace headrace::text_files
