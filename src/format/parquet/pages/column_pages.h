// How the pages of a column are stored, what of that cannot be read, and the walk through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "codec/codec.h"
#include "format/parquet/open_parquet.h"
#include "format/parquet/pages/page_walk.h"

namespace headrace::parquet {

/// The codecs of a column's chunks by their number; null: pages are not compressed.
using CodecsByNumber = std::map<std::uint32_t, std::unique_ptr<Codec>>;

/// Return why not even the levels of a chunk's pages can be read; empty: they can, as far as the footer says.
std::string storage_refusal(const ColumnChunk& chunk);
/// Return what contradicts itself in what the footer says of a column; empty: nothing.
std::string damage_of(const OpenParquet& opened, const LeafColumn& column);
/// Return why a column cannot be read; empty: it can, as far as the footer says.
std::string refusal_of(const OpenParquet& opened, const LeafColumn& column);

/// Make the codecs of all chunks of a column, whose storage_refusal() is empty. Errors: as make_codec().
Result<CodecsByNumber> make_codecs(const OpenParquet& opened, const LeafColumn& column);

/// Return an error with the file and what it is about; of damage also what to do.
Error placed(Error error, const OpenParquet& opened, const std::string& field);

/// Read the headers of a chunk's pages. Errors: kCorruptData; those of reading.
Result<PageTable> walk_chunk(const OpenParquet& opened, const LeafColumn& column, std::size_t group);

/// Read the header of the first data page of a row group. Errors: kCorruptData; those of reading.
Result<PageHeader> first_page(const OpenParquet& opened, const LeafColumn& column, std::size_t group);

}  // namespace headrace::parquet
