// Arrays of .npy values and the FormatReader that lists them: what files, archives and folders have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/npy/npy_array.h"

namespace headrace::npy {

struct Entry {
  ArrayInfo info;
  NpyHeader header;
  NpyValues values;
};

/// Read the header of a .npy file. Errors: as open_npy() (npy_reader.h).
Result<Entry> open_npy_entry(std::shared_ptr<RandomAccessFile> file, const std::string& path, const std::string& name);

/// Return a reader of these arrays. \param file  What was opened. \param any_name  Its only array opens by any name.
std::shared_ptr<FormatReader> make_npy_reader(std::string format_name, std::string path,
                                              std::shared_ptr<RandomAccessFile> file, std::vector<Entry> entries,
                                              bool any_name = false);

/// Refuse what follows the values of an archive's member.
Status check_end(const NpyHeader& header, std::uint64_t size_bytes);

/// Return a notice about bytes behind the values, which NumPy does not read either; empty if there are none.
/// Errors: kUnsupported  another array follows: np.load() would be called once more.
Result<std::string> what_follows(const ReadStart& read, const NpyHeader& header, std::uint64_t size_bytes);

}  // namespace headrace::npy
