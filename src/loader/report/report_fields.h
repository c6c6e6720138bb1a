// The fields of a report, each listed once: its JSON, Python's properties and what Python measures follow from these.
#pragma once

#include <headrace/report.h>

#include "spec/value_codecs.h"

namespace headrace {

const Spec& spec_of(const Report*);
const Spec& spec_of(const Report::Stage*);
const Spec& spec_of(const Report::Memory*);
const Spec& spec_of(const Report::RowSums*);
const Spec& spec_of(const Report::Cache*);
const Spec& spec_of(const Report::Mixing*);
const Spec& spec_of(const Report::DecodeOnce*);
const Spec& spec_of(const Report::Reading*);
/// Describe figures that are all required: copies are measured by a program, which says each.
const Spec& spec_of(const Report::ToDevice*);

}  // namespace headrace
