// Everything a C++ user of Headrace includes.
#pragma once

#include <headrace/base/bytes.h>
#include <headrace/base/error.h>
#include <headrace/catalog/dtype.h>
#include <headrace/catalog/field.h>
#include <headrace/corpus/tokenize.h>
#include <headrace/dataset/dataset.h>
#include <headrace/dataset/mix.h>
#include <headrace/dataset/split.h>
#include <headrace/dataset/stats.h>
#include <headrace/delivery/batch.h>
#include <headrace/loader/group_totals.h>
#include <headrace/loader/loader.h>
#include <headrace/loader/report.h>
#include <headrace/tokenizer/tokenizer.h>
#include <headrace/tools/tools.h>
