#include "format/npy/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace headrace {

std::string npy_header(const DType& dtype, std::span<const std::uint64_t> shape) {
  const std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                       dtype.numpy_typestr(), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kBefore = 10;  // magic, version, length
  const std::size_t padded = (kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(padded & 0xFF);
  header += static_cast<char>(padded >> 8);
  header += text;
  header.append(padded - text.size() - 1, ' ');
  return header + '\n';
}

std::string npy_header(const StoredColumn& field, std::uint64_t rows) {
  std::vector<std::uint64_t> shape{rows};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return npy_header(field.dtype, shape);
}

namespace npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostTextBytes = 256 << 10;  // some ten thousand members of a record
constexpr std::size_t kMostDimensions = 64;          // of NumPy

Error npy_damaged(std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what));
}

/// Names in headers of versions 1 and 2 are latin-1.
std::string to_utf8(std::string_view latin1) {
  std::string text;
  for (const char c : latin1) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return text;
}

/// True if the elements lie in the same order either way: no two dimensions are longer than 1, or there are none.
bool is_one_order(const std::vector<std::uint64_t>& shape) {
  return std::ranges::count_if(shape, [](std::uint64_t n) { return n > 1; }) <= 1 ||
         std::ranges::find(shape, 0U) != shape.end();
}

Status check_sizes(NpyHeader& header, std::uint64_t size_bytes) {
  header.value_bytes = header.type.record_bytes;
  const bool empty = std::ranges::find(header.shape, 0U) != header.shape.end();
  if (empty) header.value_bytes = 0;
  for (const std::uint64_t n : header.shape)
    if (!empty && __builtin_mul_overflow(header.value_bytes, n, &header.value_bytes))
      return npy_damaged(
          fmt::format("the header says shape ({}), more than any file holds", fmt::join(header.shape, ", ")));
  if (header.value_bytes > size_bytes - header.header_bytes && header.type.refusal.empty())
    return npy_damaged(fmt::format("{} bytes of values follow the header, its shape ({}) needs {}",
                                   size_bytes - header.header_bytes, fmt::join(header.shape, ", "), header.value_bytes))
        .with_hint("A truncated copy? Copy it again and compare the sizes.");
  return {};
}

Status parse_text(std::string_view text, NpyHeader& header) {
  HEADRACE_ASSIGN(const Literal dict, parse_literal(header.version < 3 ? to_utf8(text) : std::string(text)));
  const Literal* descr = dict.find("descr");
  const Literal* order = dict.find("fortran_order");
  const Literal* shape = dict.find("shape");
  if (descr == nullptr || order == nullptr || shape == nullptr || dict.items.size() != 6)
    return npy_damaged("the header does not have the keys descr, fortran_order and shape, and no others");
  if (order->kind != Literal::Kind::kBool) return npy_damaged("the header's fortran_order is neither True nor False");
  if (shape->kind != Literal::Kind::kTuple || shape->items.size() > kMostDimensions)
    return npy_damaged("the header's shape is no tuple of at most 64 numbers");
  for (const Literal& extent : shape->items) {
    if (extent.kind != Literal::Kind::kNumber) return npy_damaged("the header's shape is no tuple of numbers");
    header.shape.push_back(extent.number);
  }
  HEADRACE_ASSIGN(header.type, parse_type(*descr));
  if (order->number != 0 && !is_one_order(header.shape) && header.type.refusal.empty()) {
    header.type.refusal = "an array in Fortran order: its rows are spread over the whole file";
    header.type.hint = "Save it in C order: np.save(path, np.ascontiguousarray(array)).";
  }
  return {};
}

}  // namespace

bool is_npy(std::span<const std::byte> head) {
  return std::string_view(reinterpret_cast<const char*>(head.data()), head.size()).starts_with(kMagic);
}

Result<NpyHeader> read_npy_header(const ReadStart& read, std::uint64_t size_bytes) {
  std::array<std::byte, 12> start{};
  NpyHeader header;
  if (size_bytes < start.size())
    return npy_damaged(fmt::format("{} bytes are no .npy file: a truncated copy?", size_bytes));
  HEADRACE_TRY(read(0, start));
  if (!is_npy(start)) return npy_damaged("the bytes do not begin as a .npy file does");
  const auto number = [&](std::size_t at) { return std::to_integer<std::uint64_t>(start[at]); };
  header.version = static_cast<int>(number(6));
  if (header.version < 1 || header.version > 3 || number(7) != 0)
    return Error(ErrorCode::kUnsupported, fmt::format("version {}.{} of the .npy format; 1.0, 2.0 and 3.0 are "
                                                      "known",
                                                      number(6), number(7)))
        .with_hint("It is damaged, or was written by a NumPy newer than this build.");
  std::uint64_t text_bytes = number(8) | number(9) << 8;
  std::uint64_t before_bytes = 10;
  if (header.version > 1) {
    text_bytes |= number(10) << 16 | number(11) << 24;
    before_bytes = 12;
  }
  header.header_bytes = before_bytes + text_bytes;
  if (header.header_bytes > size_bytes)
    return npy_damaged(
        fmt::format("the header needs {} bytes, there are {}: a truncated copy?", header.header_bytes, size_bytes));
  if (text_bytes > kMostTextBytes)
    return Error(ErrorCode::kUnsupported, fmt::format("a header of {} bytes", text_bytes));
  std::string text(text_bytes, '\0');
  HEADRACE_TRY(read(before_bytes, std::as_writable_bytes(std::span(text))));
  HEADRACE_TRY(parse_text(text, header));
  HEADRACE_TRY(check_sizes(header, size_bytes));
  return header;
}

}  // namespace npy
}  // namespace headrace
