#include "dataset/verbs/registry.h"

#include <array>

namespace headrace {

std::span<const Verb* const> verbs() {
  static const std::array all{&files_verb(),     &tokens_verb(),  &volume_verb(), &mix_verb(),
                              &documents_verb(), &select_verb(),  &split_verb(),  &choose_verb(),
                              &map_verb(),       &windows_verb(), &spans_verb(),  &patches_verb()};
  return all;
}

}  // namespace headrace
