// A Dataset with what is needed to hand its rows to Python.
#pragma once

#include <headrace/dataset.h>

#include <utility>

#include "bind/batch_exporter.h"

namespace headrace::python {

struct DatasetHandle {
  explicit DatasetHandle(Dataset opened)
      : dataset(std::move(opened)), exporter(dataset.fields(), Framework::kNumpy, BatchFormat::kDict, 1) {}

  Dataset dataset;
  BatchExporter exporter;
};

}  // namespace headrace::python
