// Aligned tables and wrapped paragraphs for screens of about 100 columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

constexpr std::size_t kScreenColumns = 100;

/// Return the columns that `text` takes on a terminal: its UTF-8 characters, all of one width here.
std::size_t text_columns(std::string_view text);

/// Return the text at most `columns` wide: the middle gives way to "…", so that both ends of a path stay readable.
std::string shorten(std::string_view text, std::size_t columns);

/// Return `label`, then `text` wrapped beside it; continuation lines are indented to `indent`. Ends with a newline.
std::string paragraph(std::string_view label, std::size_t indent, std::string_view text);

constexpr std::size_t kLabelColumns = 10;  ///< Indent of the paragraphs on most screens.

class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::size_t width() const;
  /// Return the titles, then one line for each row, without trailing spaces.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// Return the same as one text, every line indented by two spaces and ended.
  [[nodiscard]] std::string indented() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headrace
