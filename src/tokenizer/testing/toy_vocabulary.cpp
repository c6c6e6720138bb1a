#include "tokenizer/testing/toy_vocabulary.h"

namespace headrace::tokenizing {

Vocabulary toy_vocabulary(Grammar grammar) {
  Vocabulary made;
  made.grammar = grammar;
  for (int byte = 0; byte < 256; ++byte)
    made.ids[std::string(1, static_cast<char>(byte))] = static_cast<std::uint32_t>(byte);
  std::vector<NamedMerge> merges;
  const auto learn = [&](const std::string& left, const std::string& right) {
    const auto id = static_cast<std::uint32_t>(made.ids.size());
    if (!made.ids.emplace(left + right, id).second) return;
    merges.push_back({made.ids.at(left), made.ids.at(right), {static_cast<std::uint32_t>(merges.size()), id}});
  };
  for (const char* word :
       {"th", "the", " the",  "re", "rea", "read", "reade", "reader", " a", "aa",  "to",       "tok",
        "en", " to", "token", "'s", "10",  "24",   "1024",  "\n\n",   "  ", "...", "\xD0\x96", "\xE4\xB8"}) {
    const std::string text(word);
    for (std::size_t cut = 1; cut < text.size(); ++cut)
      if (made.ids.contains(text.substr(0, cut)) && made.ids.contains(text.substr(cut))) {
        learn(text.substr(0, cut), text.substr(cut));
        break;
      }
  }
  learn("aa", "aa");
  made.added = {{"<|endoftext|>", static_cast<std::uint32_t>(made.ids.size())}};
  complete(made, merges).value();
  made.name = "toy";
  return made;
}

const std::vector<std::string>& hard_fragments() {
  static const std::vector<std::string> fragments = {"the",
                                                     "reader",
                                                     "'s",
                                                     "'ll",
                                                     "'r",
                                                     "'",
                                                     "\"",
                                                     " ",
                                                     " ",
                                                     "  ",
                                                     "\n",
                                                     "\n\n",
                                                     "\t",
                                                     "1024",
                                                     "7",
                                                     ", ",
                                                     "!?",
                                                     "a",
                                                     "tokens\n",
                                                     " token",
                                                     "supercalifragilisticexpialidocious",
                                                     "\r\n",
                                                     "WE'VE",
                                                     "\xC3\xA9",
                                                     "\xD0\x96",
                                                     "\xE4\xB8\xAD\xE6\x96\x87",
                                                     "\xF0\xA0\x80\x80",
                                                     "\xD9\xA3",
                                                     "\xE2\x80\x93",
                                                     "'\xC5\xBF",
                                                     "\xC2\xBD",
                                                     std::string("\0", 1),
                                                     "\x80",
                                                     "\xC2",
                                                     "\xE2\x80",
                                                     "\xF5\x80\x80\x80",
                                                     "\xED\xA0\x80",
                                                     "\xF4\x90\x80\x80",
                                                     "\xC0\xAF",
                                                     "\xC2\xA0",
                                                     "\xE3\x80\x80",
                                                     "\xC2\x85",
                                                     "\xE2\x80\xA8"};
  return fragments;
}

std::string hard_text(std::mt19937& draw, std::size_t bytes, std::size_t kinds) {
  std::string text;
  while (text.size() < bytes) text += hard_fragments()[draw() % std::min(kinds, hard_fragments().size())];
  return text;
}

}  // namespace headrace::tokenizing
