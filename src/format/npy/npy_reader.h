// .npy and .npz files as FormatReaders.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"

namespace headrace::npy {

/// A deflated member is decoded whole, whichever rows of it are wanted. Larger ones are refused.
inline constexpr std::uint64_t kMostDeflatedBytes = std::uint64_t{256} << 20;

/// Open a .npy file. Its one array is named after the file, without ".npy" and without a number at its end, so that the
/// files train_0.npy and train_1.npy both have an array "train"; it opens by any name, for there is no other.
/// Errors: kCorruptData  truncated, damaged; kUnsupported  a single number, several arrays in one file, a later version
/// of the format; those of reading.
Result<std::shared_ptr<FormatReader>> open_npy(std::shared_ptr<RandomAccessFile> file, const std::string& path);

/// Open a .npz file: each member x.npy with at least one dimension is an array x. Members that are stored as they are
/// (np.savez) are read row by row; deflated ones (np.savez_compressed) are decoded whole.
/// Errors: as open_npy; kUnsupported  no member is a .npy file.
Result<std::shared_ptr<FormatReader>> open_npz(std::shared_ptr<RandomAccessFile> file, const std::string& path);

}  // namespace headrace::npy
