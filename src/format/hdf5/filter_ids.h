// HDF5's numbers of filters, and the codecs they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/codec.h"

namespace headrace::hdf5 {

/// A step of a dataset's filter pipeline, as stored.
struct StoredFilter {
  std::uint32_t id = 0;
  std::string name;                          ///< As stored in the file, may be empty.
  std::vector<std::uint32_t> client_values;  ///< HDF5's cd_values.
};

/// Return the registered name of a filter, also of those we cannot decode ("szip", "ZFP"); "" if it is not registered.
std::string_view filter_name(std::uint32_t id);

/// Return the number of a filter by its registered name; 0 if there is none.
std::uint32_t filter_id(std::string_view name);

/// Return the codec that undoes a filter; its name is unknown to make_codec() where there is none.
FilterSpec codec_of(const StoredFilter& filter);
std::vector<FilterSpec> codecs_of(const std::vector<StoredFilter>& filters);

/// Return the names of all filters that this build decodes itself, in one line.
std::string decodable_filters();

/// Return "filter 32013 (ZFP)", for messages.
std::string filter_text(const StoredFilter& filter);

}  // namespace headrace::hdf5
