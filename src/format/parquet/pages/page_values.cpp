#include "format/parquet/pages/page_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/memory/unplanned_memory.h"
#include "codec/coded_bytes.h"
#include "codec/elements/unshuffle.h"
#include "format/parquet/pages/conversion.h"
#include "format/parquet/pages/delta_reader.h"
#include "format/parquet/pages/rle_reader.h"

namespace headrace::parquet {
namespace {

constexpr std::size_t kBatch = 1024;  // numbers that are unpacked at once: they stay in the first cache

/// Values, not rows: what is left when nulls are taken out.
struct Values {
  std::uint64_t skip = 0, count = 0;
};

Error too_few(std::uint64_t found, std::uint64_t needed) {
  return corrupt(fmt::format("its values end after {} of {}", found, needed));
}

template <std::size_t kBytes>
void gather(const std::byte* elements, const std::uint32_t* indices, std::size_t count, std::byte* out) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * kBytes, elements + indices[i] * kBytes, kBytes);
}

void gather_elements(const std::byte* elements, std::size_t size, const std::uint32_t* indices, std::size_t count,
                     std::byte* out) {
  switch (size) {
    case 1:
      return gather<1>(elements, indices, count, out);
    case 2:
      return gather<2>(elements, indices, count, out);
    case 4:
      return gather<4>(elements, indices, count, out);
    case 8:
      return gather<8>(elements, indices, count, out);
    default:
      for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * size, elements + indices[i] * size, size);
  }
}

/// Fill `count` elements with the one that stands at `element`.
void repeat_element(const std::byte* element, std::size_t size, std::size_t count, std::byte* out) {
  if (count == 0) return;
  std::memcpy(out, element, size);
  for (std::size_t done = 1; done < count;) {  // doubling
    const std::size_t more = std::min(done, count - done);
    std::memcpy(out + done * size, out, more * size);
    done += more;
  }
}

/// The largest of some numbers. Those of fewer than 32 bits are compared as signed ones, which every processor does in
/// vectors.
std::uint32_t largest(const std::uint32_t* numbers, std::size_t count, std::uint32_t bits) {
  if (bits == 32) return count == 0 ? 0 : *std::max_element(numbers, numbers + count);
  std::int32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, static_cast<std::int32_t>(numbers[i]));
  return static_cast<std::uint32_t>(most);
}

Status read_indices(const LeafColumn& column, std::span<const std::byte> bytes, Values values,
                    const Dictionary* dictionary, std::byte* out) {
  if (dictionary == nullptr) return corrupt("a page of a dictionary's indices, without a dictionary before it");
  if (bytes.empty()) return corrupt("a page of indices without their width");
  const auto width = std::to_integer<std::uint32_t>(bytes[0]);
  if (width > 32) return corrupt(fmt::format("indices of {} bits", width));
  RleReader runs(bytes.subspan(1), width);
  HEADRACE_TRY(runs.skip(values.skip));
  const std::size_t size = column.row_bytes();
  std::array<std::uint32_t, kBatch> indices;
  for (std::uint64_t left = values.count; left > 0;) {
    // A repeated run may be as long as the page.
    HEADRACE_ASSIGN(const RleRun run,
                    runs.next(indices.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, kBatch))));
    const std::uint32_t most = run.repeated ? run.value : largest(indices.data(), run.count, width);
    if (most >= dictionary->count)
      return corrupt(fmt::format("index {} into a dictionary of {} values", most, dictionary->count));
    if (run.repeated)
      repeat_element(dictionary->elements.data() + most * size, size, run.count, out);
    else
      gather_elements(dictionary->elements.data(), size, indices.data(), run.count, out);
    out += run.count * size;
    left -= run.count;
  }
  return {};
}

/// Truth values, a bit each.
Status read_bits(std::span<const std::byte> bytes, Values values, std::byte* out) {
  if (std::uint64_t{bytes.size()} * 8 < values.skip + values.count)
    return too_few(std::uint64_t{bytes.size()} * 8, values.skip + values.count);
  std::array<std::uint32_t, kBatch> bits;
  for (std::uint64_t done = 0; done < values.count;) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(values.count - done, kBatch));
    unpack_bits(bytes, 1, values.skip + done, some, bits.data());
    for (std::size_t i = 0; i < some; ++i) out[done + i] = static_cast<std::byte>(bits[i]);
    done += some;
  }
  return {};
}

/// Truth values in runs, behind the bytes that these take.
Status read_bit_runs(std::span<const std::byte> bytes, Values values, std::byte* out) {
  if (bytes.size() < 4 || load_le32(bytes.data()) > bytes.size() - 4)
    return corrupt("a page of truth values that is shorter than it says");
  RleReader runs(bytes.subspan(4, load_le32(bytes.data())), 1);
  HEADRACE_TRY(runs.skip(values.skip));
  std::array<std::uint32_t, kBatch> bits;
  for (std::uint64_t done = 0; done < values.count;) {
    HEADRACE_ASSIGN(
        const RleRun run,
        runs.next(bits.data(), static_cast<std::size_t>(std::min<std::uint64_t>(values.count - done, kBatch))));
    for (std::size_t i = 0; i < run.count; ++i)
      out[done + i] = static_cast<std::byte>(run.repeated ? run.value : bits[i]);
    done += run.count;
  }
  return {};
}

/// Byte arrays: a length and as many bytes, one behind the other.
Status read_byte_arrays(const LeafColumn& column, std::span<const std::byte> bytes, Values values, std::byte* out) {
  for (std::uint64_t i = 0; i < values.skip + values.count; ++i) {
    if (bytes.size() < 4 || load_le32(bytes.data()) > bytes.size() - 4) return too_few(i, values.skip + values.count);
    const std::uint32_t size = load_le32(bytes.data());
    if (i >= values.skip)
      HEADRACE_TRY(convert_bytes(column, bytes.subspan(4, size), out + (i - values.skip) * column.row_bytes()));
    bytes = bytes.subspan(4 + std::size_t{size});
  }
  return {};
}

Status read_plain(const LeafColumn& column, std::span<const std::byte> bytes, Values values, std::byte* out) {
  if (column.physical == PhysicalType::kBoolean) return read_bits(bytes, values, out);
  if (column.physical == PhysicalType::kByteArray) return read_byte_arrays(column, bytes, values, out);
  if (bytes.size() / column.value_bytes < values.skip + values.count)
    return too_few(bytes.size() / column.value_bytes, values.skip + values.count);
  return convert_values(column, bytes.data() + values.skip * column.value_bytes, static_cast<std::size_t>(values.count),
                        out);
}

Status read_deltas(const LeafColumn& column, std::span<const std::byte> bytes, Values values, std::byte* out) {
  DeltaReader deltas(bytes);
  HEADRACE_TRY(deltas.begin());
  std::array<std::int64_t, kBatch> batch;
  for (std::uint64_t done = 0; done < values.skip + values.count;) {
    const std::uint64_t end = done < values.skip ? values.skip : values.skip + values.count;
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(end - done, kBatch));
    HEADRACE_TRY(deltas.next(batch.data(), some));
    if (done >= values.skip) {
      std::byte* const to = out + (done - values.skip) * column.row_bytes();
      if (column.value_bytes == 8) {
        HEADRACE_TRY(convert_values(column, reinterpret_cast<const std::byte*>(batch.data()), some, to));
      } else {
        std::array<std::int32_t, kBatch> words;
        for (std::size_t i = 0; i < some; ++i) words[i] = static_cast<std::int32_t>(batch[i]);
        HEADRACE_TRY(convert_values(column, reinterpret_cast<const std::byte*>(words.data()), some, to));
      }
    }
    done += some;
  }
  return {};
}

/// Bytes of all values by their place: the first byte of each, then the second of each.
Status read_split_bytes(const LeafColumn& column, std::span<const std::byte> bytes, Values values, std::byte* out,
                        std::span<std::byte> spare) {
  const std::size_t size = column.value_bytes, stored = bytes.size() / size;
  if (bytes.size() % size != 0) return corrupt(fmt::format("{} bytes of values of {} each", bytes.size(), size));
  if (stored < values.skip + values.count) return too_few(stored, values.skip + values.count);
  if (spare.size() < bytes.size())
    return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", spare.size(), bytes.size()));
  unshuffle(as_u8(bytes.data()), stored, size, as_u8(spare.data()));
  return convert_values(column, spare.data() + values.skip * size, static_cast<std::size_t>(values.count), out);
}

Status read_values(const LeafColumn& column, Encoding encoding, std::span<const std::byte> bytes, Values values,
                   const Dictionary* dictionary, std::byte* out, std::span<std::byte> spare) {
  if (const std::string refusal = encoding_refusal(column, encoding); !refusal.empty())
    return Error(ErrorCode::kUnsupported, refusal);
  if (values.count == 0) return {};  // of a page of nulls some writers store nothing, not even a width
  switch (encoding) {
    case Encoding::kPlain:
      return read_plain(column, bytes, values, out);
    case Encoding::kPlainDictionary:
    case Encoding::kRleDictionary:
      return read_indices(column, bytes, values, dictionary, out);
    case Encoding::kRle:
      return read_bit_runs(bytes, values, out);
    case Encoding::kDeltaBinaryPacked:
      return read_deltas(column, bytes, values, out);
    default:
      return read_split_bytes(column, bytes, values, out, spare);
  }
}

/// Move elements that stand one behind the other to the rows that have one, and fill the others.
void spread(const LeafColumn& column, const std::uint8_t* present, std::uint64_t rows, std::uint64_t values,
            std::byte* out) {
  const std::size_t size = column.row_bytes();
  std::vector<std::byte> absent(size, std::byte{0});
  if (column.dtype.kind == DType::Kind::kFloat) {
    const double nan8 = std::numeric_limits<double>::quiet_NaN();
    const float nan4 = std::numeric_limits<float>::quiet_NaN();
    const std::uint16_t nan2 = 0x7e00;
    std::memcpy(absent.data(),
                size == 8   ? static_cast<const void*>(&nan8)
                : size == 4 ? static_cast<const void*>(&nan4)
                            : &nan2,
                size);
  }
  for (std::uint64_t row = rows; row-- > 0;) {
    if (present[row] != 0) --values;
    const std::byte* const from = present[row] != 0 ? out + values * size : absent.data();
    if (from != out + row * size) std::memcpy(out + row * size, from, size);
  }
}

}  // namespace

std::string encoding_refusal(const LeafColumn& column, Encoding encoding) {
  const bool bits = column.physical == PhysicalType::kBoolean, texts = column.physical == PhysicalType::kByteArray;
  bool read = false;
  switch (encoding) {
    case Encoding::kPlain:
    case Encoding::kPlainDictionary:
    case Encoding::kRleDictionary:
      read = true;
      break;
    case Encoding::kRle:
      read = bits;
      break;
    case Encoding::kDeltaBinaryPacked:
      read = column.physical == PhysicalType::kInt32 || column.physical == PhysicalType::kInt64;
      break;
    case Encoding::kByteStreamSplit:
      read = !bits && !texts && column.physical != PhysicalType::kInt96;
      break;
    default:
      break;
  }
  return read ? ""
              : fmt::format("values encoded as {}, which is not read for them",
                            encoding_name(static_cast<std::uint32_t>(encoding)));
}

Status read_elements(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                     const Dictionary* dictionary, NullPolicy nulls, std::span<std::byte> out,
                     std::span<std::byte> spare) {
  if (out.size() < rows.count * column.row_bytes())
    return Error(ErrorCode::kInternal, "scratch is too small for the rows");
  if (is_full(column, header, page))
    return read_values(column, header.encoding, page.values, {rows.skip, rows.count}, dictionary, out.data(), spare);
  if (spare.size() < rows.count) return Error(ErrorCode::kInternal, "scratch is too small for the levels");
  const std::span<std::byte> flags = spare.last(rows.count);  // the values need the front
  auto* const present = reinterpret_cast<std::uint8_t*>(flags.data());
  HEADRACE_ASSIGN(const Present found, read_presence(column, header, page, rows, present));
  if (nulls == NullPolicy::kError && found.among < rows.count) {
    const auto row = static_cast<std::uint64_t>(std::find(present, present + rows.count, 0) - present);
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{} {} has no value", column.is_list() ? "element" : "row", rows.number + row))
        .with_hint(
            "Open the data with nulls=\"fill\" (NaN, and 0 for what are no floats) or "
            "nulls=\"mask\" (the same, and a field NAME.valid that says where).");
  }
  HEADRACE_TRY(read_values(column, header.encoding, page.values, {found.before, found.among}, dictionary, out.data(),
                           spare.first(spare.size() - rows.count)));
  if (found.among < rows.count) spread(column, present, rows.count, found.among, out.data());
  return {};
}

Result<Dictionary> read_dictionary(const LeafColumn& column, const PageHeader& header,
                                   std::span<const std::byte> body) {
  if (header.encoding != Encoding::kPlain && header.encoding != Encoding::kPlainDictionary)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("a dictionary encoded as {}", encoding_name(static_cast<std::uint32_t>(header.encoding))));
  if (column.physical == PhysicalType::kBoolean) return Error(ErrorCode::kUnsupported, "a dictionary of truth values");
  // Byte arrays have four bytes of length each: no header can ask for more memory than its page accounts for.
  const std::uint64_t most = body.size() / (column.physical == PhysicalType::kByteArray ? 4 : column.value_bytes);
  if (header.num_values > most) return too_few(most, header.num_values);
  Dictionary dictionary;
  dictionary.count = static_cast<std::size_t>(header.num_values);
  HEADRACE_ASSIGN(dictionary.elements,
                  unplanned_memory(MemoryTag::kScratch, std::uint64_t{dictionary.count} * column.row_bytes()));
  HEADRACE_TRY(read_plain(column, body, {0, header.num_values}, dictionary.elements.data()));
  return dictionary;
}

}  // namespace headrace::parquet
