#include <headrace/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dataset/dataset_contents.h"
#include "dataset/files/read_concurrency.h"
#include "dataset/opening/common_attributes.h"
#include "dataset/samples/mapped_samples.h"
#include "dataset/samples/take_mapped.h"
#include "dataset/samples/take_rows.h"

namespace headrace {
namespace {

void check_row(std::uint64_t row, std::uint64_t rows) {
  if (row >= rows)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("row {} was asked for; there are {}", row, rows));
}

}  // namespace

std::shared_ptr<Dataset::Impl> Dataset::Impl::make(SampleSource source, DataTree node) {
  auto impl = std::make_shared<Impl>();
  impl->node = std::move(node);
  impl->source = std::move(source);
  for (const Source* const stored : impl->source.stored()) {
    std::uint64_t before = 0;
    for (const SourceFile& f : stored->files) {
      const RowSet* const chosen = stored->chosen.get();
      impl->files.push_back(
          {f.path, chosen ? chosen->count_below(before + f.rows) - chosen->count_below(before) : f.rows});
      before += f.rows;
    }
  }
  for (std::size_t field = 0; field < impl->source.fields()->size(); ++field) {
    const ColumnPlace column = impl->source.column_of(field);
    if (!column.source) {
      impl->storage.push_back({{}, "none", "made", "", true});
      impl->attributes.emplace_back();
      continue;
    }
    const ArrayInfo& first = column.info();
    CommonAttributes common;
    FieldStorage storage{first.chunk_shape, first.codec_text(), first.read_path_name(), first.reason, true};
    for (const SourceFile& f : column.source->files) {
      const ArrayInfo& info = f.arrays[column.place.array]->info();
      storage.uniform = storage.uniform && (info.page_rows > 0 || info.chunk_shape == first.chunk_shape) &&
                        info.codec_text() == storage.codec && info.read_path == first.read_path;
      common.add(info.attributes, f.path);
    }
    impl->storage.push_back(std::move(storage));
    impl->attributes.push_back(common.result());
  }
  impl->layout = plan_layout(impl->source, 0);
  impl->blocks = impl->source.blocks(impl->layout);
  impl->rows = impl->blocks->num_rows();
  if (const MappedSource* const mapped = impl->source.mapped(); mapped && !mapped->file_ends.empty()) {
    const RowSet* const chosen = impl->blocks->chosen().get();
    std::uint64_t before = 0;
    // Those of a table beside the rows are no files of samples; a file that has arrays for each was opened for each.
    const auto same = [](const FileEntry& a, const FileEntry& b) { return a.path == b.path; };
    impl->files.resize(mapped->groups[0].source->files.size());
    impl->files.erase(std::unique(impl->files.begin(), impl->files.end(), same), impl->files.end());
    for (std::size_t f = 0; f < mapped->file_ends.size(); ++f) {
      const std::uint64_t end = chosen ? chosen->count_below(mapped->file_ends[f]) : mapped->file_ends[f];
      impl->files[f].rows = end - before;
      before = end;
    }
  }
  if (const MappedSource* const mapped = impl->source.mapped(); mapped && mapped->boxes && mapped->file_ends.empty()) {
    impl->files.resize(mapped->made_of()->files.size());
    for (FileEntry& file : impl->files) file.rows = 0;  // samples are drawn from all of them
  }
  impl->reading_bytes = headrace::reading_bytes(impl->source, impl->layout);
  return impl;
}

const Source& Dataset::Impl::rows_for(std::string_view what) const {
  if (const Source* const source_of_rows = source.rows()) return *source_of_rows;
  throw Error(ErrorCode::kUnsupported, fmt::format("{} of {} is not there yet", what, source.what()))
      .with_hint("Open the same fields as rows, without what makes samples of them, for that.");
}

Result<Dataset::Impl::IdleServer> Dataset::Impl::take_server() {
  {
    const std::lock_guard lock(idle_mutex);
    if (!idle.empty()) {
      IdleServer s = std::move(idle.back());
      idle.pop_back();
      return s;
    }
  }
  IdleServer s;
  s.clock = std::make_unique<StageClock>();
  s.counters = std::make_unique<DecodeCounters>(*s.clock);
  s.server = std::make_unique<BlockServer>(*source.rows(), layout, no_residents, no_side_chunks, *s.counters);
  HEADRACE_TRY(s.server->prepare());
  return s;
}

void Dataset::Impl::put_server(IdleServer server) {
  const std::lock_guard lock(idle_mutex);
  if (idle.empty()) idle.push_back(std::move(server));  // one is kept warm; memory for more is not worth it
}

Dataset::Dataset(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
std::uint64_t Dataset::size() const {
  return impl_->rows;
}
const std::vector<Field>& Dataset::fields() const {
  return *impl_->source.fields();
}
const std::vector<LeftOut>& Dataset::left_out() const {
  static const std::vector<LeftOut> nothing;
  const Source* const source = impl_->source.stored()[0];
  return impl_->source.rows() || !impl_->source.mapped()->boxes ? source->left_out : nothing;
}
const std::vector<FieldStorage>& Dataset::storage() const {
  return impl_->storage;
}
const std::vector<FileEntry>& Dataset::files() const {
  return impl_->files;
}
const Attributes& Dataset::attributes(std::size_t field) const {
  return impl_->attributes[field];
}
const Attributes& Dataset::file_attributes() const {
  static const Attributes none;
  const Source* const source = impl_->source.stored()[0];
  return source->notes ? source->notes->attributes : none;
}
const std::vector<std::string>& Dataset::notices() const {
  static const std::vector<std::string> none;
  if (const MappedSource* const mapped = impl_->source.mapped()) return mapped->notices;
  const Source* const source = impl_->source.rows();
  return source->notes ? source->notes->notices : none;
}
std::uint64_t Dataset::sample_bytes() const {
  const MappedSource* const mapped = impl_->source.mapped();
  if (mapped && !mapped->program) return impl_->source.sample_bytes();
  const double rows = mapped ? mapped->sizes.mean_rows() : 1;  // of ragged fields
  double bytes = 0;
  for (const Field& field : fields())
    bytes += static_cast<double>(field.row_bytes()) * (field.dims.is_ragged() ? rows : 1);
  return static_cast<std::uint64_t>(bytes);
}
std::uint64_t Dataset::block_rows() const {
  return impl_->layout.files.empty() ? 0 : impl_->layout.files[0].block_rows;
}
void Dataset::close() {
  impl_->closed = true;
}
bool Dataset::closed() const {
  return impl_->closed;
}

Batch Dataset::slice(std::uint64_t first, std::uint64_t count, const std::function<bool()>& go_on) const {
  if (first > size() || count > size() - first)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("rows {} to {} were asked for; there are {}", first, first + count, size()));
  const MappedSource* const mapped = impl_->source.mapped();
  const std::uint64_t least = mapped ? mapped->sizes.fixed_bytes : impl_->source.slot_sample_bytes();
  reading_threads(*impl_, count, least);  // before as many numbers are listed
  std::vector<std::uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return take(rows, go_on);
}

Batch Dataset::take(std::span<const std::uint64_t> rows, const std::function<bool()>& go_on) const {
  if (closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  refuse_drawn(*impl_, "reading samples by number");
  return impl_->take(rows, {}, go_on);
}

Batch Dataset::Impl::take(std::span<const std::uint64_t> samples, EpochSeed draws, const std::function<bool()>& go_on,
                          const Finisher* padding) {
  if (samples.size() > ~std::uint32_t{0})
    throw Error(ErrorCode::kInvalidArgument, "more than 2^32 rows at once").with_hint("Use a Loader.");
  for (const std::uint64_t sample : samples) check_row(sample, rows);
  const MappedSource* const mapped = source.mapped();
  const std::uint64_t sample_bytes =
      mapped && !samples.empty() ? bytes_of(*mapped, samples) / samples.size() : source.slot_sample_bytes();
  const std::uint64_t threads = reading_threads(*this, samples.size(), sample_bytes);
  return (mapped ? take_mapped(*mapped, samples, draws, go_on, padding)
                 : take_rows(*this, samples, draws, threads, go_on))
      .value();
}

std::uint64_t Dataset::block_end(std::uint64_t row) const {
  if (row >= size())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("row {} was asked for; there are {}", row, size()));
  const BlockTable& blocks = *impl_->blocks;
  const std::uint64_t block = blocks.find(row).block;
  return blocks.first_row(block) + blocks.block_rows(block);
}

}  // namespace headrace
