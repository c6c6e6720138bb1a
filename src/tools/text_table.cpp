#include "tools/text_table.h"

#include <algorithm>

namespace headrace {
namespace {
constexpr std::size_t kGap = 2;

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// The first or last `columns` characters.
std::string_view front(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  while (i < text.size() && (!starts_character(text[i]) || columns-- > 0)) ++i;
  return text.substr(0, i);
}
std::string_view back(std::string_view text, std::size_t columns) {
  std::size_t i = text.size();
  while (columns > 0 && i > 0)
    if (starts_character(text[--i])) --columns;
  return text.substr(i);
}
}  // namespace

std::size_t text_columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string shorten(std::string_view text, std::size_t columns) {
  if (text_columns(text) <= columns || columns < 3) return std::string(text);
  const std::size_t left = (columns - 1) / 2;
  return std::string(front(text, left)) + "…" + std::string(back(text, columns - 1 - left));
}

std::string paragraph(std::string_view label, std::size_t indent, std::string_view text) {
  std::string out(label);
  out.append(indent - std::min(indent, text_columns(label)), ' ');
  std::size_t column = std::max(indent, text_columns(label));
  bool fresh = true;  // nothing on this line yet
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!fresh && column + 1 + text_columns(word) > kScreenColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent, fresh = true;
    }
    if (!fresh) out += ' ', ++column;
    out += word, column += text_columns(word), fresh = false;
  }
  return out + '\n';
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = text_columns(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, text_columns(row[c]));
    widths.push_back(widest);
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t total = 0;
  for (const std::size_t w : widths()) total += w + kGap;
  return total == 0 ? 0 : total - kGap;
}

std::vector<std::string> TextTable::lines() const {
  const std::vector<std::size_t> width = widths();
  std::vector<std::string> lines;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& text = cell(c);
      const std::string fill(width[c] - text_columns(text), ' ');
      if (c > 0) line.append(kGap, ' ');
      line += columns_[c].align == Align::kRight ? fill + text : text + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  return lines;
}

std::string TextTable::indented() const {
  std::string text;
  for (const std::string& line : lines()) text += "  " + line + "\n";
  return text;
}

}  // namespace headrace
