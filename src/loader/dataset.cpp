#include <headrace/loader/dataset.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/base/bytes.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <new>
#include <numeric>
#include <thread>

#include "assembly/mapping.h"
#include "base/cpu_count.h"
#include "base/memory_budget.h"
#include "loader/beside_files.h"
#include "loader/dataset_impl.h"
#include "loader/field_selection.h"
#include "loader/file_lists.h"
#include "loader/open_source_file.h"
#include "loader/paths.h"
#include "loader/refuse.h"
#include "loader/take_mapped.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLargeReadBytes = mebibytes(64);  // from here on a read can be stopped
constexpr std::chrono::milliseconds kTick{50};            // between two questions whether to go on

std::shared_ptr<void> allocate_rows(std::uint64_t bytes) {
  void* p = ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{64});
  return {p, [](void* q) { ::operator delete (q, std::align_val_t{64}); }};
}

/// Rows that a caller wants at once must fit what the process may hold, beside the books of 32 bytes a row.
void check_room(const Dataset& dataset, std::uint64_t rows) {
  const std::uint64_t limit = MemoryBudget::process()->limit_bytes();
  if (rows <= limit / (dataset.sample_bytes() + 32)) return;
  Error error(ErrorCode::kOutOfBudget,
              fmt::format("{} row{} of {} do{} not fit the {} that this process may hold", rows, rows == 1 ? "" : "s",
                          format_bytes(dataset.sample_bytes()), rows == 1 ? "es" : "", format_bytes(limit)));
  error.with_file(dataset.files()[0].path);
  if (rows > 1) throw error.with_hint("Take fewer rows at once, or deliver them by a Loader.");
  const auto largest = std::ranges::max_element(dataset.fields(), {}, &Field::row_bytes);
  if (largest != dataset.fields().end()) error.with_field(largest->path);
  throw error.with_hint("Leave the largest fields out with fields=.");
}

void check_row(std::uint64_t row, std::uint64_t rows) {
  if (row >= rows)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("row {} was asked for; there are {}", row, rows));
}

/// Throws kUnsupported for samples that are not simply rows.
void need_rows(const Source& source, std::string_view what) {
  if (source.mapping)
    throw Error(ErrorCode::kUnsupported, fmt::format("{} of samples that are not simply rows is not there yet", what));
}

/// What opens the same files again from another folder.
FilesNode files_node(const Dataset& data) {
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  FilesNode node;
  for (const FileEntry& file : data.files()) node.paths.push_back(absolute(file.path));
  for (const Field& field : data.fields()) node.options.fields.push_back({field.name, field.path});
  node.options.beside = data.beside();
  for (auto& [text, paths] : node.options.beside) std::ranges::transform(paths, paths.begin(), absolute);
  return node;
}

/// Requests of one block of a take().
struct BlockRequests {
  std::uint64_t block;
  std::size_t begin, end;
};

}  // namespace

std::shared_ptr<Dataset::Impl> Dataset::Impl::make(std::shared_ptr<const Source> source,
                                                   std::shared_ptr<const DataNode> node) {
  auto impl = std::make_shared<Impl>();
  impl->node = std::move(node);
  impl->source = std::move(source);
  const Source& s = *impl->source;
  std::uint64_t stored_rows = 0;
  if (s.mapping) {
    for (const Source* stored : stored_sources(s))
      for (const SourceFile& f : stored->files) impl->files.push_back({f.path, f.rows});
    impl->rows = s.mapping->map->homes()->num_rows();
  } else {
    for (const SourceFile& f : s.files) {
      const std::uint64_t rows =
          s.chosen ? s.chosen->count_below(stored_rows + f.rows) - s.chosen->count_below(stored_rows) : f.rows;
      impl->files.push_back({f.path, rows});
      impl->rows += rows;
      stored_rows += f.rows;
    }
  }
  for (std::size_t field = 0; field < s.fields->size(); ++field) {
    const ColumnPlace column = column_of(s, field);
    const ArrayInfo& first = column.info();
    FieldStorage storage{first.chunk_shape, first.codec_text(), first.read_path_name(), first.reason, true};
    for (const SourceFile& f : column.source->files) {
      const ArrayInfo& info = f.arrays[column.place.array]->info();
      storage.uniform = storage.uniform && info.chunk_shape == first.chunk_shape &&
                        info.codec_text() == storage.codec && info.read_path == first.read_path;
    }
    impl->storage.push_back(std::move(storage));
    impl->attributes.push_back(first.attributes);
  }
  impl->layout = plan_layout(s, 0);
  return impl;
}

std::shared_ptr<const DataNode> Dataset::Impl::node_with(decltype(DataNode::what) verb) const {
  if (!node) return nullptr;
  auto made = std::make_shared<DataNode>();
  made->what = std::move(verb);
  made->of.push_back(node);
  return made;
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
  s.server = std::make_unique<BlockServer>(*source, layout, no_residents, no_side_chunks, *s.counters);
  HEADRACE_TRY(s.server->prepare());
  return s;
}

void Dataset::Impl::put_server(IdleServer server) {
  const std::lock_guard lock(idle_mutex);
  if (idle.empty()) idle.push_back(std::move(server));  // one is kept warm; memory for more is not worth it
}

Result<std::shared_ptr<Dataset::Impl>> open_dataset(const std::vector<std::string>& paths, const OpenOptions& options) {
  HEADRACE_ASSIGN(const std::vector<std::string> files, expand_paths(paths));
  auto source = std::make_shared<Source>();
  FileLists lists(files, options.beside, IndexStore::of_user());
  HEADRACE_ASSIGN(FieldPlan plan, plan_fields(lists, options.fields));
  for (std::size_t i = 0; i < files.size(); ++i) {
    HEADRACE_ASSIGN(SourceFile file, open_source_file(lists, i, plan));
    source->files.push_back(std::move(file));
  }
  lists.save();
  source->set_columns(std::move(plan.columns));
  source->places = std::move(plan.places);
  auto impl = Dataset::Impl::make(std::move(source));
  impl->node = std::make_shared<const DataNode>(DataNode{files_node(Dataset(impl)), {}});
  if (impl->rows == 0)
    return Error(ErrorCode::kInvalidArgument, files.size() == 1 ? "the fields have 0 rows" : "no file has any rows")
        .with_file(files[0])
        .with_hint("Run: headrace inspect " + files[0]);
  if (impl->layout.table->num_blocks() >= (std::uint64_t{1} << 32))
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{} blocks are more than 2^32", impl->layout.table->num_blocks()));
  return impl;
}

Dataset::Dataset(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
std::uint64_t Dataset::size() const {
  return impl_->rows;
}
const std::vector<Field>& Dataset::fields() const {
  return *impl_->source->fields;
}
const std::vector<FieldStorage>& Dataset::storage() const {
  return impl_->storage;
}
const std::vector<FileEntry>& Dataset::files() const {
  return impl_->files;
}
const std::map<std::string, std::string>& Dataset::attributes(std::size_t field) const {
  return impl_->attributes[field];
}
std::uint64_t Dataset::sample_bytes() const {
  return impl_->source->row_bytes();
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
  check_room(*this, count);
  std::vector<std::uint64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return take(rows, go_on);
}

Batch Dataset::take(std::span<const std::uint64_t> rows, const std::function<bool()>& go_on) const {
  if (closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  if (rows.size() > ~std::uint32_t{0})
    throw Error(ErrorCode::kInvalidArgument, "more than 2^32 rows at once").with_hint("Use a Loader.");
  check_room(*this, rows.size());
  const Source& source = *impl_->source;
  const BlockTable& blocks = *impl_->layout.table;
  if (source.mapping) {
    for (const std::uint64_t row : rows) check_row(row, size());
    return take_mapped(source, rows, go_on).value();
  }
  Batch::Parts parts;
  parts.fields = source.fields;
  parts.rows = rows.size();
  for (const Field& f : *source.fields) {
    parts.holders.push_back(allocate_rows(rows.size() * f.row_bytes()));
    parts.data.push_back(static_cast<std::byte*>(parts.holders.back().get()));
  }
  struct WantedRow {
    std::uint64_t block;
    Request request;
  };
  std::vector<WantedRow> wanted;
  wanted.reserve(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    check_row(rows[i], size());
    const BlockTable::RowPlace p = blocks.find(rows[i]);
    wanted.push_back({p.block, {blocks.stored_row(p.block, p.row_in_block), i}});
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const WantedRow& a, const WantedRow& b) { return a.block < b.block; });
  std::vector<Request> requests;
  std::vector<BlockRequests> tasks;
  for (const WantedRow& w : wanted) {
    if (tasks.empty() || tasks.back().block != w.block) tasks.push_back({w.block, requests.size(), 0});
    requests.push_back(w.request);
    tasks.back().end = requests.size();
  }

  std::atomic<std::size_t> next{0};
  std::mutex error_mutex;
  std::optional<std::pair<std::size_t, Error>> error;  // of the first block that failed, whichever thread found it
  std::atomic<bool> cancelled{false};
  const auto work = [&] {
    auto server = impl_->take_server();
    for (std::size_t t; !cancelled && (t = next.fetch_add(1)) < tasks.size();) {
      Status status = server.ok() ? Status() : Status(server.error());
      if (server.ok()) {
        const BlockTable::Place place = blocks.place(tasks[t].block);
        const std::span<const Request> mine{requests.data() + tasks[t].begin, tasks[t].end - tasks[t].begin};
        const RowRun run{parts.data.data(), 0, static_cast<std::uint32_t>(mine.size())};
        const auto failures =
            server->server->serve({tasks[t].block, place.file, place.rows, true, 0}, {mine, {}, {&run, 1}}, cancelled);
        for (const RowFailure& f : failures)
          if (std::any_of(mine.begin(), mine.end(),
                          [&](const Request& r) { return r.row >= f.rows.first && r.row < f.rows.end(); })) {
            status = f.error;
            break;
          }
      }
      if (status.ok()) continue;
      const std::lock_guard lock(error_mutex);
      if (!error || t < error->first) error.emplace(t, status.error());
    }
    if (server.ok()) impl_->put_server(std::move(*server));
  };
  const std::size_t threads = std::min<std::size_t>(tasks.size() / 4, static_cast<std::uint32_t>(usable_cpu_count()));
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  if (go_on && rows.size() * sample_bytes() >= kLargeReadBytes) {
    // A block may take long: another thread reads, so that this one can ask all the while.
    std::future<void> reading = std::async(std::launch::async, work);
    do cancelled = cancelled || !go_on();
    while (reading.wait_for(kTick) != std::future_status::ready);
    reading.get();
  } else {
    work();
  }
  helpers.clear();
  if (cancelled) throw Error(ErrorCode::kCancelled, "stopped before all rows were read");
  if (error) throw error->second;
  return Batch(std::move(parts));
}

Dataset Dataset::choose(std::span<const std::string> names) const {
  need_rows(*impl_->source, "a choice of fields");
  const Source& old = *impl_->source;
  auto source = std::make_shared<Source>();
  std::vector<StoredColumn> columns;
  std::vector<std::size_t> arrays;
  for (const std::string& name : names) {
    const auto it = std::ranges::find(*old.columns, name, &StoredColumn::name);
    if (it == old.columns->end()) {
      std::vector<std::string> have;
      for (const Field& f : *old.fields) have.push_back(f.name);
      throw Error(ErrorCode::kFieldMissing, fmt::format("no field '{}'; there are {}", name, fmt::join(have, ", ")));
    }
    const Source::Place place = old.places[static_cast<std::size_t>(it - old.columns->begin())];
    auto known = std::ranges::find(arrays, place.array);
    if (known == arrays.end()) known = arrays.insert(known, place.array);
    columns.push_back(*it);
    source->places.push_back({static_cast<std::uint32_t>(known - arrays.begin()), place.column});
  }
  source->set_columns(std::move(columns));
  source->chosen = old.chosen;
  source->mixture = old.mixture;
  for (const SourceFile& f : old.files) source->files.push_back(with_arrays(f, arrays));
  return Dataset(Impl::make(std::move(source), impl_->node_with(FieldsNode{{names.begin(), names.end()}})));
}

Dataset Dataset::select(std::span<const std::uint64_t> rows) const {
  need_rows(*impl_->source, "a selection");
  if (impl_->source->mixture)
    throw refuse("rows of a mixture cannot be selected: they are drawn by weight", "Select from its parts, then mix.");
  if (rows.empty()) throw refuse("a selection of no rows", "Select at least one.");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= size())
      throw refuse(fmt::format("row {} was selected; there are {}", rows[i], size()), "Rows count from 0.");
    if (i > 0 && rows[i] <= rows[i - 1])
      throw refuse(fmt::format("selected rows must ascend: row {} comes after row {}", rows[i], rows[i - 1]),
                   "Sort them, each once: a selection keeps the order of the files. To repeat rows, or for an order of "
                   "your own, give them to Loader(sampler=).");
  }
  auto source = std::make_shared<Source>(*impl_->source);
  const std::uint64_t stored = impl_->layout.table->num_stored_rows();
  auto here = std::make_shared<const RowSet>(size(), rows);
  if (!source->chosen) {
    source->chosen = here;
  } else {
    std::vector<std::uint64_t> of_files(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) of_files[i] = (*source->chosen)[rows[i]];
    source->chosen = std::make_shared<const RowSet>(stored, of_files);
  }
  return Dataset(Impl::make(std::move(source), impl_->node_with(RowsNode{std::move(here)})));
}

std::vector<std::uint64_t> Dataset::selected_rows() const {
  std::vector<std::uint64_t> rows(size());
  const RowSet* const chosen = impl_->source->chosen.get();
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = chosen ? (*chosen)[i] : i;
  return rows;
}

std::uint64_t Dataset::block_end(std::uint64_t row) const {
  if (row >= size())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("row {} was asked for; there are {}", row, size()));
  const BlockTable& blocks = *impl_->layout.table;
  const std::uint64_t block = blocks.find(row).block;
  return blocks.first_row(block) + blocks.block_rows(block);
}

Dataset open(const std::vector<std::string>& paths, OpenOptions options) {
  return Dataset(open_dataset(paths, options).value());
}
Dataset open(const std::string& path_or_glob, OpenOptions options) {
  return open(std::vector<std::string>{path_or_glob}, std::move(options));
}

}  // namespace headrace
