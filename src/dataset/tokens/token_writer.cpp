// TokenWriter: ids checked against their vocabulary, on their way to the files.
#include <fmt/format.h>
#include <headrace/tokens.h>

#include <optional>
#include <utility>
#include <vector>

#include "dataset/recipe/refuse.h"
#include "dataset/tokens/token_numbers.h"
#include "format/tokens/token_type.h"

namespace headrace {
namespace {

/// Megatron writes uint16 for fewer ids than this, and int32 for all others.
constexpr std::uint64_t kMegatronWide = 65500;

DType asked_type(const TokenWriterOptions& options) {
  if (!options.dtype.empty()) {
    const std::optional<DType> type = token_files::token_type(options.dtype);
    if (!type)
      throw refuse(fmt::format("dtype '{}' is no type of tokens", options.dtype), "Such as \"u2\" or \"uint32\".");
    return *type;
  }
  if (options.vocab_size == 0)
    throw refuse("neither vocab_size nor dtype is given", "Give vocab_size=, or dtype=\"u2\" or \"u4\".");
  if (options.format != TokenFormat::kMegatron) return token_files::token_type_for(options.vocab_size);
  return options.vocab_size < kMegatronWide ? DType{DType::Kind::kUInt, 2} : DType{DType::Kind::kInt, 4};
}

}  // namespace

DType type_to_write(const TokenWriterOptions& options) {
  const DType dtype = asked_type(options);
  const std::uint64_t largest = token_files::largest_of(dtype);
  if (options.vocab_size > 0 && options.vocab_size - 1 > largest)
    throw refuse(fmt::format("a vocabulary of {} does not fit in {}, which ends at {}: ids would wrap",
                             options.vocab_size, dtype.name(), largest),
                 "Leave dtype out, or give a wider one.");
  return dtype;
}

token_files::OutputFormat output_format(TokenFormat format) {
  if (format == TokenFormat::kNanogpt) return token_files::OutputFormat::kRaw;
  return format == TokenFormat::kMegatron ? token_files::OutputFormat::kMegatron : token_files::OutputFormat::kFolder;
}

void append_numbers(std::span<const std::uint32_t> ids, std::size_t width, std::vector<std::byte>& out) {
  const std::size_t before = out.size();
  out.resize(before + ids.size() * width);
  std::byte* to = out.data() + before;
  if (width == 2) {  // the compiler makes wide stores of it
    for (std::size_t i = 0; i < ids.size(); ++i) {
      to[2 * i] = static_cast<std::byte>(ids[i] & 0xFF);
      to[2 * i + 1] = static_cast<std::byte>(ids[i] >> 8 & 0xFF);
    }
    return;
  }
  for (const std::uint32_t id : ids)
    for (std::size_t byte = 0; byte < width; ++byte)
      *to++ = byte < 4 ? static_cast<std::byte>(id >> 8 * byte & 0xFF) : std::byte{0};
}

struct TokenWriter::Impl {
  DType dtype;
  std::uint64_t limit = 0;       ///< Ids are below it.
  std::uint64_t vocab_size = 0;  ///< As it was said.
  std::optional<std::uint32_t> end_of_text;
  std::unique_ptr<token_files::TokenOutput> output;
  std::uint64_t tokens = 0, documents = 0, in_document = 0;
  std::vector<std::byte> numbers;  ///< For the next write.
  std::optional<Error> failure;    ///< What the first write failed with: what the files have since then is not known.

  /// Throw if nothing can be written any more.
  void check_usable() const {
    if (failure) throw Error(*failure);
    if (!output) throw Error(ErrorCode::kClosed, "the writer has finished");
  }
  /// Throw the error of a write, and keep it for all later calls.
  void need(const Status& written) {
    if (written.ok()) return;
    failure = written.error();
    failure->with_hint("The files are incomplete and get no name: write all of them again, with a new writer.");
    throw Error(*failure);
  }

  void check(std::span<const std::uint32_t> ids) const {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] >= limit)
        throw refuse(
            fmt::format("token {} of document {} is {}, and ids end at {}, the {}", in_document + i, documents, ids[i],
                        limit - 1,
                        vocab_size > 0 ? "vocabulary's last" : fmt::format("last that {} holds", dtype.name())),
            "Another dtype, or another tokenizer's vocabulary?");
  }
  void write(std::span<const std::uint32_t> ids) {
    numbers.clear();
    append_numbers(ids, dtype.itemsize, numbers);
    need(output->write(numbers));
    tokens += ids.size();
    in_document += ids.size();
  }
  void end_document() {
    if (end_of_text) write({&*end_of_text, 1});
    need(output->end_document(in_document));
    ++documents;
    in_document = 0;
  }
};

TokenWriter::TokenWriter(const std::string& path, const TokenWriterOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->dtype = type_to_write(options);
  const std::uint64_t largest = token_files::largest_of(impl_->dtype);
  impl_->vocab_size = options.vocab_size;
  impl_->limit = options.vocab_size > 0 ? options.vocab_size : largest == ~std::uint64_t{0} ? largest : largest + 1;
  impl_->end_of_text = options.end_of_text;
  if (options.end_of_text && *options.end_of_text >= impl_->limit)
    throw refuse(fmt::format("end_of_text is {}, and ids end at {}", *options.end_of_text, impl_->limit - 1));
  if (options.shard_tokens == 0) throw refuse("shards of 0 tokens", "Give a number of tokens, such as 2^30.");
  token_files::TokenManifest manifest;
  manifest.dtype = impl_->dtype;
  manifest.vocab_size = options.vocab_size;
  manifest.tokenizer = options.tokenizer;
  manifest.tokenizer_hash = options.tokenizer_hash;
  if (options.end_of_text) manifest.end_of_text = *options.end_of_text;
  impl_->output =
      token_files::open_token_output(output_format(options.format), path, std::move(manifest), options.shard_tokens)
          .value();
}

TokenWriter::~TokenWriter() = default;
TokenWriter::TokenWriter(TokenWriter&&) noexcept = default;
TokenWriter& TokenWriter::operator=(TokenWriter&&) noexcept = default;

void TokenWriter::append(std::span<const std::uint32_t> ids) {
  impl_->check_usable();
  impl_->check(ids);
  impl_->write(ids);
}

void TokenWriter::end_document() {
  impl_->check_usable();
  impl_->end_document();
}

void TokenWriter::finish() {
  impl_->check_usable();
  if (impl_->in_document > 0) impl_->end_document();
  if (impl_->tokens == 0)
    throw refuse("no token was written", "Write at least one token: an empty file cannot be opened.");
  impl_->need(impl_->output->finish());
  impl_->output.reset();
}

std::uint64_t TokenWriter::tokens() const {
  return impl_->tokens;
}
std::uint64_t TokenWriter::documents() const {
  return impl_->documents;
}

}  // namespace headrace
