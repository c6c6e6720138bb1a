// An earlier run beside this one: what became slower.
#pragma once

#include <headrace/tools.h>

#include "tools/json.h"

namespace headrace {

/// Compare a summarised bench with the file that `judgement` names, if any: adds "baseline" to the JSON, a paragraph to
/// text and Markdown, and sets the findings. Throws kNotFound, kInvalidArgument: the file is not there or no bench.
void judge_bench(Json& bench, const BenchJudgement& judgement, ToolResult& result);

/// Compare it with `before`, another summarised bench, in place of the file.
void compare_bench(Json& bench, const Json& before, const BenchJudgement& judgement, ToolResult& result);

}  // namespace headrace
