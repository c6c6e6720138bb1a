#include "tools/bench/bench_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/bench/bench_report.h"
#include "tools/machine.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr int kWidth = 960, kLeft = 270, kRight = 190, kTop = 104, kRow = 58, kBar = 18, kFoot = 20;
constexpr std::size_t kLineColumns = 130;  // of the footer, at its size
constexpr const char* kOurs = "#0b6e99";
constexpr const char* kOursFirst = "#9ccde0";
constexpr const char* kTheirs = "#8a8f98";
constexpr const char* kTheirsFirst = "#d3d6da";

/// Text for XML: names come from files and from elsewhere.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // no control character may be in XML
  }
  return out;
}

std::string text_at(double x, double y, const std::string& attributes, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, escaped(words));
}

double rate_of(const Json& pass) {
  return pass.is_object() ? pass["samples_per_second"].get<double>() : 0;
}

/// The next of 1, 2, 2.5 and 5 times a power of ten: about five of them reach `most`.
double grid_step(double most) {
  const double power = std::pow(10.0, std::floor(std::log10(most / 5)));
  for (const double times : {1.0, 2.0, 2.5, 5.0})
    if (most / (power * times) <= 5) return power * times;
  return power * 10;
}

std::string short_rate(double rate) {
  if (rate >= 1e6) return fmt::format("{:g} M", rate / 1e6);
  return rate >= 1e3 ? fmt::format("{:g} k", rate / 1e3) : fmt::format("{:g}", rate);
}

std::string grid(double most, double scale, int bottom) {
  std::string out;
  const double step = grid_step(most);
  for (int line = 0; line * step <= most * 1.001; ++line) {
    const double at = line * step;
    const double x = kLeft + at * scale;
    out += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#e6e8eb\"/>\n", x, kTop - 8,
                       bottom);
    out += text_at(x, bottom + 18, "text-anchor=\"middle\" font-size=\"12\" fill=\"#6b7280\"", short_rate(at));
  }
  return out;
}

std::string bar(double y, double rate, double scale, const char* colour, const std::string& words) {
  if (!(rate > 0)) return text_at(kLeft + 6, y + kBar - 4, "font-size=\"12\" fill=\"#9aa0a8\"", words);
  return fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n", kLeft, y,
                     std::max(rate * scale, 1.0), kBar, colour) +
         text_at(kLeft + rate * scale + 7, y + kBar - 4, "font-size=\"13\" fill=\"#1f2933\"", words);
}

std::string with_factor(double rate, const Json& contestant, const char* pass) {
  std::string words = rate_text(rate);
  if (const auto is = contestant.find("headrace_is"); is != contestant.end())
    if (const std::optional<double> times = number_at(*is, pass))
      words += fmt::format("   (Headrace: {:.{}f}x)", *times, *times < 100 ? 1 : 0);
  return words;
}

/// Words in lines of at most kLineColumns.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && text_columns(lines.back()) + 1 + text_columns(word) > kLineColumns)
      lines.emplace_back();
    lines.back() += lines.back().empty() ? word : " " + word;
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string bench_picture(const Json& bench) {
  const Json& contestants = bench["contestants"];
  double most = 1;
  bool several = false;
  for (const Json& c : contestants) {
    most = std::max({most, rate_of(c["first"]), rate_of(c["later"])});
    several = several || c["batch_size"] != contestants[0]["batch_size"];
  }
  const double scale = (kWidth - kLeft - kRight) / most;
  const int bottom = kTop + kRow * static_cast<int>(contestants.size());
  std::string foot = bench_method_text(bench);
  if (bench.contains("machine")) foot += " " + machine_text(bench["machine"]) + ".";
  const std::vector<std::string> lines = wrapped(foot);
  const int height = bottom + 44 + kFoot * static_cast<int>(lines.size());

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, height);
  out += text_at(24, 38, "font-size=\"22\" font-weight=\"600\" fill=\"#111827\"", "Samples a second, loading only");
  out += text_at(24, 62, "font-size=\"14\" fill=\"#4b5563\"", bench_data_text(bench));
  out += fmt::format(
      "<rect x=\"{0}\" y=\"74\" width=\"12\" height=\"12\" fill=\"{1}\"/>\n"
      "<rect x=\"{2}\" y=\"74\" width=\"12\" height=\"12\" fill=\"{3}\"/>\n",
      kLeft, kOurs, kLeft + 120, kOursFirst);
  out += text_at(kLeft + 18, 84, "font-size=\"12\" fill=\"#4b5563\"", "later epochs");
  out += text_at(kLeft + 138, 84, "font-size=\"12\" fill=\"#4b5563\"", "first epoch");
  out += grid(most, scale, bottom);
  double y = kTop;
  for (const Json& c : contestants) {
    const bool ours = c["name"] == "headrace";
    std::string title = c.value("title", c["name"].get<std::string>());
    if (several) title += fmt::format(", batch {}", c["batch_size"].get<std::uint64_t>());
    if (c.value("split", "train") == "validation") title += ", validation";
    out += text_at(
        kLeft - 12, y + kBar + 6,
        fmt::format("text-anchor=\"end\" font-size=\"14\" fill=\"#111827\"{}", ours ? " font-weight=\"600\"" : ""),
        shorten(title, 36));
    const double first = rate_of(c["first"]), later = rate_of(c["later"]);
    out += bar(y, later, scale, ours ? kOurs : kTheirs,
               later > 0 ? with_factor(later, c, "later") : "later epochs: not reached in the time");
    out += bar(y + kBar + 3, first, scale, ours ? kOursFirst : kTheirsFirst,
               first > 0 ? with_factor(first, c, "first") : "not measured");
    y += kRow;
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += text_at(24, bottom + 50 + kFoot * static_cast<double>(i), "font-size=\"12\" fill=\"#6b7280\"", lines[i]);
  return out + "</svg>\n";
}

}  // namespace headrace
