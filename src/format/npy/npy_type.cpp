#include "format/npy/npy_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codec/elements/byteswap.h"

namespace headrace::npy {
namespace {

constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 31;
constexpr std::string_view kSave = "Save it in another type: np.save(path, array.astype(...)).";

Error no_type(std::string_view what) {
  return Error(ErrorCode::kCorruptData, fmt::format("the header describes no type: {}", what));
}

/// A type string: order, letter, number.
struct Scalar {
  bool big_endian = false;
  char letter = 0;
  std::uint64_t number = 0;
};

Result<Scalar> parse_scalar(std::string_view text) {
  Scalar scalar;
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    scalar.big_endian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest.empty()) return no_type(fmt::format("'{}'", text));
  scalar.letter = rest[0];
  rest.remove_prefix(1);
  if (scalar.letter == 'M' || scalar.letter == 'm') rest = rest.substr(0, rest.find('['));  // the unit of a date
  if (rest.size() > 10 || rest.find_first_not_of("0123456789") != std::string_view::npos ||
      (rest.empty() && scalar.letter != 'O'))
    return no_type(fmt::format("'{}'", text));
  for (const char c : rest) scalar.number = scalar.number * 10 + static_cast<std::uint64_t>(c - '0');
  return scalar;
}

class Builder {
 public:
  NpyType type;

  /// Add a member of type `descr`, `inner` times, at the end of what there is.
  Status add(const Literal& descr, const std::string& name, const std::vector<std::uint64_t>& inner) {
    std::uint64_t count = 1;
    for (const std::uint64_t n : inner)
      if (n == 0 || __builtin_mul_overflow(count, n, &count)) return no_type("a member without a size");
    if (descr.kind == Literal::Kind::kText) return add_scalar(descr.text, name, inner, count);
    if (descr.kind != Literal::Kind::kList) return no_type("neither a type string nor a list of members");
    const std::uint64_t first_byte = type.record_bytes;
    HEADRACE_TRY(add_members(descr, name));
    if (inner.empty()) return {};
    refuse(name, "an array of records inside a record", "Save the members as arrays of their own.");
    return grow((count - 1), type.record_bytes - first_byte);
  }

  Status add_members(const Literal& list, const std::string& prefix) {
    for (const Literal& member : list.items) {
      if (member.kind != Literal::Kind::kTuple || member.items.size() < 2 || member.items.size() > 3)
        return no_type("a member that is not (name, type) or (name, type, shape)");
      // A name may be (title, name).
      const Literal& first = member.items[0];
      const Literal& name = first.kind == Literal::Kind::kTuple && first.items.size() == 2 ? first.items[1] : first;
      if (name.kind != Literal::Kind::kText) return no_type("a member without a name");
      std::vector<std::uint64_t> inner;
      if (member.items.size() == 3) {
        const Literal& shape = member.items[2];
        if (shape.kind == Literal::Kind::kNumber) inner.push_back(shape.number);
        for (const Literal& extent : shape.items) {
          if (extent.kind != Literal::Kind::kNumber) return no_type("a member whose shape is none");
          inner.push_back(extent.number);
        }
      }
      const Literal& descr = member.items[1];
      // Padding is a member without a name, of raw bytes.
      if (name.text.empty() && descr.kind == Literal::Kind::kText && descr.text.find('V') != std::string::npos) {
        HEADRACE_ASSIGN(const Scalar padding, parse_scalar(descr.text));
        HEADRACE_TRY(grow(1, padding.number));
        continue;
      }
      HEADRACE_TRY(add(descr, prefix.empty() ? name.text : prefix + "." + name.text, inner));
    }
    return {};
  }

 private:
  bool passed_over_ = false;  // the member that is being added
  bool is_number_ = false;    // by its letter

  Status grow(std::uint64_t count, std::uint64_t bytes) {
    std::uint64_t more = 0;
    if (__builtin_mul_overflow(count, bytes, &more) || more > kMostRecordBytes ||
        type.record_bytes + more > kMostRecordBytes)
      return no_type("an element of more than 2 GiB");
    type.record_bytes += more;
    return {};
  }

  /// Pass over a member; a whole element where it is none.
  void pass_over(const std::string& name, const std::string& what, std::string_view hint) {
    passed_over_ = true;
    if (name.empty()) return refuse(name, what, hint);
    type.left_out.push_back({name, what, std::string(hint), is_number_});
  }

  void refuse(const std::string& name, const std::string& what, std::string_view hint) {
    if (!type.refusal.empty()) return;
    type.refusal = name.empty() ? what : fmt::format("{} (member '{}')", what, name);
    type.hint = hint;
  }

  Status add_scalar(const std::string& text, const std::string& name, const std::vector<std::uint64_t>& inner,
                    std::uint64_t count) {
    HEADRACE_ASSIGN(const Scalar scalar, parse_scalar(text));
    using Kind = DType::Kind;
    const std::uint64_t n = scalar.number;
    const bool integer_size = n == 1 || n == 2 || n == 4 || n == 8;
    std::uint64_t bytes = n;
    DType dtype{Kind::kUInt, static_cast<std::uint32_t>(n)};
    std::uint64_t parts = 1;  // numbers that are swapped one by one
    const bool is_bfloat16 = scalar.letter == 'V' && n == 2;
    is_number_ = std::string_view("SUMmOV").find(scalar.letter) == std::string_view::npos || is_bfloat16;
    switch (scalar.letter) {
      case 'b':
        if (n != 1) return no_type(fmt::format("'{}'", text));
        dtype.kind = Kind::kBool;
        break;
      case 'i':
      case 'u':
        if (!integer_size) return no_type(fmt::format("'{}'", text));
        dtype.kind = scalar.letter == 'i' ? Kind::kInt : Kind::kUInt;
        break;
      case 'f':
        dtype.kind = Kind::kFloat;
        if (n != 2 && n != 4 && n != 8) pass_over(name, fmt::format("floats of {} bytes ('{}')", n, text), kSave);
        break;
      case 'c':
        dtype.kind = Kind::kComplex;
        parts = 2;
        if (n != 8 && n != 16) pass_over(name, fmt::format("complex numbers of {} bytes ('{}')", n, text), kSave);
        break;
      case 'S':
        dtype.kind = Kind::kBytes;
        parts = 0;
        if (n == 0) pass_over(name, "strings of no bytes", kSave);
        break;
      case 'U':
        bytes = 4 * n;
        pass_over(name, fmt::format("text of {} code points ('{}')", n, text),
                  "Encode it: np.char.encode(array, 'utf-8').");
        break;
      case 'M':
      case 'm':
        if (n != 8) return no_type(fmt::format("'{}'", text));
        pass_over(name, fmt::format("dates and times ('{}')", text), "Save their numbers: array.view('i8').");
        break;
      case 'O':
        bytes = 8;
        refuse(name, "Python objects, which are stored as a pickle",
               "Headrace never loads pickles: save the array in a type of numbers.");
        break;
      case 'V':
        if (n == 2)
          pass_over(name, fmt::format("raw bytes ('{}'), which is how NumPy saves bfloat16", text),
                    "Save bfloat16 as float32: np.save(path, np.load(path).view(ml_dtypes.bfloat16).astype('f4')).");
        else
          pass_over(name, fmt::format("raw bytes ('{}')", text), "Save them as array.view('u1') or as 'S'.");
        break;
      default:
        return no_type(fmt::format("'{}'", text));
    }
    type.no_numbers = type.no_numbers || !is_number_;
    const std::uint64_t offset = type.record_bytes;
    HEADRACE_TRY(grow(count, bytes));
    if (std::exchange(passed_over_, false) && type.refusal.empty()) return {};
    if (type.refusal.empty() && scalar.big_endian && parts > 0 && bytes / parts > 1)
      type.swaps.push_back({offset, count * parts, static_cast<std::uint32_t>(bytes / parts)});
    type.columns.push_back({name, dtype, inner, offset});
    return {};
  }
};

}  // namespace

Result<NpyType> parse_type(const Literal& descr) {
  Builder builder;
  if (descr.kind == Literal::Kind::kText) {
    HEADRACE_TRY(builder.add(descr, "", {}));
  } else if (descr.kind == Literal::Kind::kList && !descr.items.empty()) {
    builder.type.is_record = true;
    HEADRACE_TRY(builder.add_members(descr, ""));
    NpyType& type = builder.type;
    if (type.columns.empty() && type.left_out.empty()) return no_type("a record without members");
    if (type.columns.empty() && type.refusal.empty()) {
      type.refusal = fmt::format("{} (member '{}')", type.left_out[0].reason, type.left_out[0].path);
      type.hint = type.left_out[0].hint;
    }
  } else {
    return no_type("neither a type string nor a list of members");
  }
  return std::move(builder.type);
}

void to_native(const NpyType& type, std::span<std::byte> elements) {
  if (type.swaps.size() == 1 && type.swaps[0].count * type.swaps[0].width_bytes == type.record_bytes)
    return swap_bytes(elements, type.swaps[0].width_bytes);
  const auto record = static_cast<std::size_t>(type.record_bytes);
  for (std::size_t at = 0; !type.swaps.empty() && at + record <= elements.size(); at += record)
    for (const SwapRun& run : type.swaps)
      swap_bytes(elements.subspan(at + run.offset_bytes, run.count * run.width_bytes), run.width_bytes);
}

}  // namespace headrace::npy
