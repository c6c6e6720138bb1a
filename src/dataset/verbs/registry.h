// The verbs there are. A new one is a struct of options with its list (X_verb.cpp), what it does (X.cpp), and a line in
// registry.cpp; docs/guides/adding-a-verb.md.
#pragma once

#include "dataset/recipe/data_tree.h"

namespace headrace {

const Verb& files_verb();
const Verb& volume_verb();
const Verb& tokens_verb();
const Verb& mix_verb();
const Verb& documents_verb();
const Verb& select_verb();
const Verb& split_verb();
const Verb& choose_verb();
const Verb& map_verb();
const Verb& windows_verb();
const Verb& spans_verb();
const Verb& patches_verb();

}  // namespace headrace
