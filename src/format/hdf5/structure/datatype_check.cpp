#include "format/hdf5/structure/datatype_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr int kMessageDepthLimit = 32;

enum class Verdict { kSound, kUnknown };  // kUnknown: a newer version, whose length cannot be told

Error datatype_damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "the datatype is damaged: " + std::move(why));
}

/// A null-terminated name; padded to a multiple of 8 before version 3.
std::optional<std::string> read_name(ByteCursor& fields, std::uint64_t version) {
  std::string name;
  while (const std::uint64_t letter = fields.number(1)) name += static_cast<char>(letter);  // 0 past the end as well
  if (version < 3) fields.skip(7 - name.size() % 8);
  return fields.ok() ? std::optional(std::move(name)) : std::nullopt;
}

class Checker {
 public:
  explicit Checker(ByteCursor& fields) : fields_(fields) {}

  /// \param size  Set to the size the type declares.
  Result<Verdict> check(std::uint64_t& size, int depth) {
    const std::uint64_t head = fields_.number(1), version = head >> 4, kind = head & 0x0F;
    const std::uint64_t bits = fields_.number(3);
    size = fields_.number(4);
    if (!fields_.ok() || depth > kMessageDepthLimit) return datatype_damaged("it is cut short or nested too deeply");
    if (version < 1 || version > 3 || kind > 10) return Verdict::kUnknown;
    if (size == 0) return datatype_damaged("a size of 0 bytes");
    switch (kind) {
      case 0:
      case 4:
        return check_bits(size);
      case 1:
        return check_float(size, bits);
      case 2:
        return skip(2);
      case 5:
        return skip(bits & 0xFF);
      case 6:
        return check_compound(size, version, bits & 0xFFFF, depth);
      case 8:
        return check_enum(size, version, bits & 0xFFFF, depth);
      case 9: {
        std::uint64_t base = 0;
        return check(base, depth + 1);
      }
      case 10:
        return check_array(size, version, depth);
      default:
        return Verdict::kSound;  // strings, references
    }
  }

 private:
  Result<Verdict> skip(std::uint64_t bytes) {
    fields_.skip(bytes);
    if (!fields_.ok()) return datatype_damaged("it is cut short");
    return Verdict::kSound;
  }

  Result<Verdict> check_bits(std::uint64_t size) {
    const std::uint64_t offset = fields_.number(2), precision = fields_.number(2);
    if (!fields_.ok() || precision == 0 || offset + precision > 8 * size)
      return datatype_damaged(fmt::format("{} bits from bit {} on in {} bytes", precision, offset, size));
    return Verdict::kSound;
  }

  Result<Verdict> check_float(std::uint64_t size, std::uint64_t bits) {
    HEADRACE_TRY(status_of(check_bits(size)));
    const std::uint64_t sign = bits >> 8 & 0xFF, exponent_at = fields_.number(1), exponent = fields_.number(1);
    const std::uint64_t mantissa_at = fields_.number(1), mantissa = fields_.number(1);
    const std::uint64_t bias = fields_.number(4), last = 8 * size;
    if (!fields_.ok() || exponent == 0 || mantissa == 0 || exponent > 32 || sign >= last ||
        exponent_at + exponent > last || mantissa_at + mantissa > last || bias >> exponent != 0)
      return datatype_damaged("the fields of a float lie outside it");
    if ((bits & 0x41) == 0x41 && size % 2 != 0)  // 1.10 swaps pairs of bytes, one of them outside
      return datatype_damaged(fmt::format("VAX byte order in {} bytes", size));
    const bool apart = exponent_at + exponent <= mantissa_at || mantissa_at + mantissa <= exponent_at;
    if (!apart || sign - exponent_at < exponent || sign - mantissa_at < mantissa)  // wraps where sign is below
      return datatype_damaged("the fields of a float overlap");
    return Verdict::kSound;
  }

  Result<Verdict> check_compound(std::uint64_t size, std::uint64_t version, std::uint64_t members, int depth) {
    if (members == 0) return datatype_damaged("a record without members");
    std::size_t offset_bytes = 4;  // version 3: as many as the size needs
    if (version == 3) offset_bytes = size < 256 ? 1 : size < 65'536 ? 2 : size < (1 << 24) ? 3 : 4;
    std::set<std::string> names;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // the first byte, and the one after the last
    for (std::uint64_t i = 0; i < members; ++i) {
      std::optional<std::string> name = read_name(fields_, version);
      if (!name) return datatype_damaged("a member's name does not end");
      if (!names.insert(*name).second) return datatype_damaged(fmt::format("two members are called '{}'", *name));
      const std::uint64_t offset = fields_.number(offset_bytes);
      std::uint64_t repeat = 1;
      if (version == 1) {  // array members, before there were array types
        const std::uint64_t rank = fields_.number(1);
        fields_.skip(11);
        if (rank > 4) return datatype_damaged(fmt::format("a member of {} axes", rank));
        for (std::uint64_t d = 0; d < 4; ++d) {
          const std::uint64_t n = fields_.number(4);
          if (d < rank && __builtin_mul_overflow(repeat, n, &repeat))
            return datatype_damaged("a member of absurd size");
        }
      }
      std::uint64_t member = 0;
      HEADRACE_ASSIGN(const Verdict verdict, check(member, depth + 1));
      if (verdict == Verdict::kUnknown) return verdict;
      std::uint64_t end = 0;
      if (__builtin_mul_overflow(member, repeat, &end) || __builtin_add_overflow(end, offset, &end) || end > size)
        return datatype_damaged(fmt::format("a member lies outside its record of {} bytes", size));
      places.emplace_back(offset, end);
    }
    return check_apart(std::move(places));
  }

  /// libhdf5 writes no members that overlap or share a name; 1.10 reads them, and converts them past the record's end.
  static Result<Verdict> check_apart(std::vector<std::pair<std::uint64_t, std::uint64_t>> places) {
    std::ranges::sort(places);
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i].first < places[i - 1].second)
        return datatype_damaged(fmt::format("two members of a record share its byte {}", places[i].first));
    return Verdict::kSound;
  }

  Result<Verdict> check_enum(std::uint64_t size, std::uint64_t version, std::uint64_t members, int depth) {
    std::uint64_t base = 0;
    HEADRACE_ASSIGN(const Verdict verdict, check(base, depth + 1));
    if (verdict == Verdict::kUnknown) return verdict;
    if (base != size) return datatype_damaged(fmt::format("an enum of {} bytes over numbers of {}", size, base));
    for (std::uint64_t i = 0; i < members; ++i)
      if (!read_name(fields_, version)) return datatype_damaged("an enum's name does not end");
    return skip(members * base);
  }

  Result<Verdict> check_array(std::uint64_t size, std::uint64_t version, int depth) {
    const std::uint64_t rank = fields_.number(1);
    if (version < 3) fields_.skip(3);
    if (rank == 0 || rank > 32) return datatype_damaged(fmt::format("an array of {} axes", rank));
    std::uint64_t total = 1;
    for (std::uint64_t d = 0; d < rank; ++d)
      if (__builtin_mul_overflow(total, fields_.number(4), &total)) return datatype_damaged("an array of absurd size");
    if (version < 3) fields_.skip(4 * rank);
    std::uint64_t base = 0;
    HEADRACE_ASSIGN(const Verdict verdict, check(base, depth + 1));
    if (verdict == Verdict::kUnknown) return verdict;
    if (__builtin_mul_overflow(total, base, &total) || total != size)
      return datatype_damaged(fmt::format("an array of {} bytes whose entries need {}", size, total));
    return Verdict::kSound;
  }

  static Status status_of(Result<Verdict> result) {
    if (!result.ok()) return std::move(result.error());
    return {};
  }

  ByteCursor& fields_;
};

}  // namespace

Status check_datatype(std::span<const std::byte> message) {
  ByteCursor fields(message);
  std::uint64_t size = 0;
  HEADRACE_ASSIGN([[maybe_unused]] const Verdict verdict, Checker(fields).check(size, 0));
  return {};
}

}  // namespace headrace::hdf5
