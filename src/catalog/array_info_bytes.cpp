#include "catalog/array_info_bytes.h"

#include <limits>
#include <utility>

#include "catalog/attribute_bytes.h"

namespace headrace {

void pack(const Column& column, PackedWriter& out) {
  out.text(column.name);
  out.number(static_cast<std::uint64_t>(column.dtype.kind));
  out.number(column.dtype.itemsize);
  out.numbers(column.inner_shape);
  out.number(column.offset);
}

Column unpack_column(PackedReader& in) {
  Column column;
  column.name = in.text();
  column.dtype.kind = static_cast<DType::Kind>(in.number_up_to(static_cast<std::uint64_t>(DType::Kind::kBytes)));
  column.dtype.itemsize = static_cast<std::uint32_t>(in.number_up_to(std::numeric_limits<std::uint32_t>::max()));
  column.inner_shape = in.numbers();
  column.offset = in.number();
  return column;
}

void pack(const std::vector<LeftOut>& left_out, PackedWriter& out) {
  out.number(left_out.size());
  for (const LeftOut& one : left_out) {
    out.text(one.path);
    out.text(one.reason);
    out.text(one.hint);
    out.number(one.is_unknown ? 1 : 0);
  }
}

std::vector<LeftOut> unpack_left_out(PackedReader& in) {
  std::vector<LeftOut> left_out;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    LeftOut& one = left_out.emplace_back();
    one.path = in.text();
    one.reason = in.text();
    one.hint = in.text();
    one.is_unknown = in.number_up_to(1) == 1;
  }
  return left_out;
}

void pack(const ArrayInfo& info, PackedWriter& out) {
  out.text(info.path);
  out.numbers(info.shape);
  out.number(info.record_bytes);
  out.number(info.columns.size());
  for (const Column& column : info.columns) pack(column, out);
  out.flag(info.is_record);
  out.number(static_cast<std::uint64_t>(info.layout));
  out.numbers(info.chunk_shape);
  out.numbers(info.chunk_ends);
  out.number(info.page_rows);
  for (const bool flag : {info.nullable, info.is_filled, info.has_checksums, info.no_numbers}) out.flag(flag);
  out.number(info.filters.size());
  for (const FilterInfo& filter : info.filters) {
    out.text(filter.name);
    out.text(filter.setting);
  }
  out.number(info.stored_bytes);
  out.number(static_cast<std::uint64_t>(info.read_path));
  out.text(info.library);
  out.text(info.reason);
  pack(info.left_out, out);
  out.text(info.notice);
  pack(info.attributes, out);
}

ArrayInfo unpack_array_info(PackedReader& in) {
  ArrayInfo info;
  info.path = in.text();
  info.shape = in.numbers();
  if (info.shape.empty()) in.fail();
  info.record_bytes = in.number();
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) info.columns.push_back(unpack_column(in));
  info.is_record = in.flag();
  info.layout = static_cast<Layout>(in.number_up_to(static_cast<std::uint64_t>(Layout::kExternal)));
  info.chunk_shape = in.numbers();
  info.chunk_ends = in.numbers();
  info.page_rows = in.number();
  for (bool* const flag : {&info.nullable, &info.is_filled, &info.has_checksums, &info.no_numbers}) *flag = in.flag();
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    FilterInfo& filter = info.filters.emplace_back();
    filter.name = in.text();
    filter.setting = in.text();
  }
  info.stored_bytes = in.number();
  info.read_path = static_cast<ReadPath>(in.number_up_to(static_cast<std::uint64_t>(ReadPath::kUnsupported)));
  info.library = in.text();
  info.reason = in.text();
  info.left_out = unpack_left_out(in);
  info.notice = in.text();
  info.attributes = unpack_attributes(in);
  return info;
}

}  // namespace headrace
