#include "format/sniff.h"

#include <algorithm>
#include <string_view>

namespace headrace {
namespace {

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* what;
  const char* hint;
};

using namespace std::string_view_literals;

constexpr const char* kUnpack = "Unpack it first.";
constexpr const char* kConvert = "Headrace reads HDF5, Parquet, .npy and .npz; convert it, for example with h5py.";

// Signatures as their specifications give them (netCDF classic: "CDF" + version byte; Parquet, Arrow, ROOT, …).
constexpr Magic kMagics[] = {
    {0, "CDF\x01"sv, "a netCDF-3 file (classic)", "It looks like HDF5's cousin but is not: nccopy -k netCDF-4 IN OUT."},
    {0, "CDF\x02"sv, "a netCDF-3 file (64-bit offsets)", "It is not HDF5: nccopy -k netCDF-4 IN OUT converts it."},
    {0, "CDF\x05"sv, "a netCDF-3 file (64-bit data)", "It is not HDF5: nccopy -k netCDF-4 IN OUT converts it."},
    {0, "\x0e\x03\x13\x01"sv, "an HDF4 file", "HDF4 is another format: h4toh5 converts it."},
    {0, "\x89HDF\n\x1a\n"sv, "an HDF5 file damaged by a text-mode transfer (its \\r\\n became \\n)",
     "Copy it again in binary mode."},
    {0, "\x89HDF\r\r\n\x1a"sv, "an HDF5 file damaged by a text-mode transfer (its \\n became \\r\\n)",
     "Copy it again in binary mode."},
    {0, "ARROW1"sv, "an Arrow IPC (Feather) file", kConvert},
    {0, "FEA1"sv, "a Feather version 1 file", kConvert},
    {0, "ORC"sv, "an ORC file", kConvert},
    {0, "\x1f\x8b"sv, "a gzip file", kUnpack},
    {0, "BZh"sv, "a bzip2 file", kUnpack},
    {0,
     "\xfd"
     "7zXZ\x00"sv,
     "an xz file", kUnpack},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file", kUnpack},
    {0, "\x04\x22\x4d\x18"sv, "an LZ4 file", kUnpack},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7-zip archive", kUnpack},
    {257, "ustar"sv, "a tar archive", kUnpack},
    {0, "root"sv, "a ROOT file", "Convert it, for example with uproot and h5py."},
    {0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file before version 7.3", "Save it in MATLAB with -v7.3, which is HDF5."},
    {0, "SIMPLE  ="sv, "a FITS file", kConvert},
    {0, "SQLite format 3\x00"sv, "an SQLite database", kConvert},
    {0, "\x89PNG"sv, "a PNG image", ""},
    {0, "\xff\xd8\xff"sv, "a JPEG image", ""},
    {0, "II*\x00"sv, "a TIFF image", kConvert},
    {0, "MM\x00*"sv, "a TIFF image", kConvert},
    {0, "%PDF"sv, "a PDF document", ""},
    {0, "GRIB"sv, "a GRIB file", kConvert},
    {0,
     "\x7f"
     "ELF"sv,
     "a program", ""},
    {0, "\x80\x02"sv, "a Python pickle", "Headrace never loads pickles."},
    {0, "\x80\x03"sv, "a Python pickle", "Headrace never loads pickles."},
    {0, "\x80\x04\x95"sv, "a Python pickle", "Headrace never loads pickles."},
    {0, "\x80\x05\x95"sv, "a Python pickle", "Headrace never loads pickles."},
    {0, "version https://git-lfs"sv, "a Git LFS pointer, not the data", "Run: git lfs pull"},
    {0, "<!DOCTYPE"sv, "an HTML page: a download that failed?", "Download it again."},
    {0, "<!doctype"sv, "an HTML page: a download that failed?", "Download it again."},
    {0, "<html"sv, "an HTML page: a download that failed?", "Download it again."},
    {0, "<?xml"sv, "an XML document: a download that failed?", "Download it again."},
};

}  // namespace

bool is_zip(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
}

Sniffed sniff(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Magic& m : kMagics)
    if (text.size() >= m.offset + m.bytes.size() && text.substr(m.offset, m.bytes.size()) == m.bytes)
      return {m.what, m.hint};
  if (text.empty()) return {};
  if (std::ranges::all_of(text, [](char c) { return c == 0; }))
    return {"only zeros at its start: space reserved for a copy or a writer that never finished", "Copy it again."};
  if (std::ranges::all_of(text, [](char c) { return (c >= 32 && c < 127) || c == '\n' || c == '\r' || c == '\t'; }))
    return {"a text file", "Headrace reads HDF5, Parquet, .npy and .npz."};
  return {};
}

}  // namespace headrace
