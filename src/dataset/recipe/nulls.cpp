#include <headrace/dataset.h>

#include "dataset/recipe/words.h"

namespace headrace {

std::string_view to_string(Nulls nulls) {
  return word_of(nulls);
}

std::optional<Nulls> nulls_of(std::string_view word) {
  return value_of_word<Nulls>(word);
}

}  // namespace headrace
