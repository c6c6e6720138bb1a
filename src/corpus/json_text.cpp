#include "corpus/json_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "corpus/json_escapes.h"
#include "corpus/json_numbers.h"
#include "corpus/text_piece.h"

namespace headrace::corpora {
namespace {

namespace dom = simdjson::dom;

Error bad(std::string text, std::string_view hint = {}) {
  return Error(ErrorCode::kCorruptData, std::move(text)).with_hint(hint);
}

std::string_view kind_name(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "a list";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    case dom::element_type::STRING:
      return "text";
    default:
      return "a number";
  }
}

std::string keys_of(const dom::object& object) {
  std::string keys;
  for (const auto& [key, value] : object) {
    if (keys.size() > 80) return keys + ", …";
    keys += fmt::format("{}'{}'", keys.empty() ? "" : ", ", key);
  }
  return keys.empty() ? "none" : keys;
}

}  // namespace

struct JsonText::Impl {
  std::string field;
  std::string plain = {};   // a line without numbers
  std::string paired = {};  // and one whose surrogates are pairs
  dom::parser parser{};     // its constructor is explicit

  void pair(std::string_view line, std::string_view instead) {
    paired = with_pairs_alone(line, instead);
    paired.reserve(paired.size() + kPaddingBytes);
  }
  Result<dom::element> member(const dom::element& line) const {
    if (field.starts_with('/')) {
      dom::element found;
      if (line.at_pointer(field).get(found) == simdjson::SUCCESS) return found;
      return bad(fmt::format("nothing is at '{}'", field), "Name where the text is with field=, or --field.");
    }
    const dom::object object = line.get_object();
    dom::element found;
    int count = 0;
    for (const auto& [key, value] : object)
      if (key == field) found = value, ++count;
    if (count == 1) return found;
    if (count > 1) return bad(fmt::format("the key '{}' stands twice in the line", field));
    return bad(fmt::format("there is no key '{}'; there are: {}", field, keys_of(object)),
               "Name the one with the text with field=, or --field.");
  }
};

JsonText::JsonText(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonText::~JsonText() = default;
JsonText::JsonText(JsonText&&) noexcept = default;
JsonText& JsonText::operator=(JsonText&&) noexcept = default;

Result<JsonText> JsonText::make(const std::string& field) {
  if (field.empty())
    return Error(ErrorCode::kInvalidArgument, "field is empty")
        .with_hint("Give the key of the text, such as \"text\".");
  auto impl = std::make_unique<Impl>();
  impl->field = field;
  return JsonText(std::move(impl));
}

Result<std::string_view> JsonText::text_of(std::string_view line, BadText bad_text) {
  auto found = found_text(line);
  if (found.ok() || found.error().code() != ErrorCode::kCorruptData) return found;
  // Python's json writes halves of surrogate pairs, which are no text: those of other keys do not matter.
  impl_->pair(line, "\\ufffd");
  if (impl_->paired == line) return found;
  auto text = found_text(impl_->paired);
  if (!text.ok() || bad_text == BadText::kReplace) return text;
  const std::string before(*text);
  impl_->pair(line, "\\ufffc");
  text = found_text(impl_->paired);
  if (text.ok() && *text != before)
    return bad("its text has half of a surrogate pair, such as \\ud800, which is no character",
               "Put U+FFFD there, or leave out such documents: bad_text=, --bad-text replace or skip.");
  return text;
}

Result<std::string_view> JsonText::found_text(std::string_view line) {
  dom::element root;
  simdjson::error_code code = impl_->parser.parse(line.data(), line.size(), false).get(root);
  const auto has_no_memory = [&] { return code == simdjson::MEMALLOC || code == simdjson::CAPACITY; };
  if (code != simdjson::SUCCESS && !has_no_memory()) {  // perhaps for numbers of other keys, which do not matter
    impl_->plain = without_numbers(line);
    code = impl_->parser.parse(impl_->plain).get(root);
  }
  if (has_no_memory())
    return Error(ErrorCode::kOutOfBudget, fmt::format("a line of {} bytes is too long to parse", line.size()));
  if (code != simdjson::SUCCESS)
    return bad(fmt::format("this is no line of JSON: {}", simdjson::error_message(code)),
               "Each line is one object; a file that is one list is not: convert it with jq -c '.[]'.");
  if (!root.is_object())
    return bad(fmt::format("a line is an object, and this is {}", kind_name(root.type())),
               "A file that is one list becomes lines with jq -c '.[]'.");
  HEADRACE_ASSIGN(const dom::element found, impl_->member(root));
  if (!found.is_string()) return bad(fmt::format("'{}' is {}, not text", impl_->field, kind_name(found.type())));
  return std::string_view(found.get_string());
}

}  // namespace headrace::corpora
