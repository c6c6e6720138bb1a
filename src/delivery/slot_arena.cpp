#include "delivery/slot_arena.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/memory/align.h"

namespace headrace {
struct SlotArena::ArenaSlot final : SlotMemory {
  std::shared_ptr<SlotArena> arena;
  std::uint64_t offset = 0, bytes = 0;
  std::optional<PageBuffer> outside;
  Holes::node_type hole;  // that it leaves: giving back takes no memory
  bool counted = false;
  bool delivered = false;  // else the window drops it, under its lock: it is not told of what it does
  ~ArenaSlot() override {
    if (!counted) return;
    arena->give_back(offset, bytes, outside.has_value(), std::move(hole));
    if (delivered && !outside) arena->tell_released();
  }
};

std::vector<SlotField> slot_fields(const MappedSource& mapped) {
  std::vector<SlotField> fields;
  if (const std::shared_ptr<const Program>& program = mapped.program) {
    const auto add = [&](const Field& field, bool staged) {
      const bool ragged = field.dims.is_ragged();  // of the first group
      fields.push_back({field.row_bytes(), 0, ragged, !ragged, staged});
    };
    for (const Field& field : program->fields()) add(field, false);
    for (const Field& field : program->staged_fields()) add(field, true);
    return fields;
  }
  for (std::size_t g = 0; g < mapped.groups.size(); ++g)
    for (const StoredColumn& column : *mapped.groups[g].source->columns)
      fields.push_back({mapped.boxes ? mapped.boxes->box_elements(g) * column.row_bytes() : column.row_bytes(), g,
                        mapped.map->groups()[g].rows == UnitGroup::Rows::kRagged});
  return fields;
}

SlotArena::SlotArena(std::vector<SlotField> fields, std::uint64_t slots, std::uint64_t slot_bytes,
                     std::shared_ptr<const std::vector<Field>> batch_fields)
    : fields_(std::move(fields)),
      num_delivered_(
          static_cast<std::size_t>(std::ranges::count_if(fields_, [](const SlotField& f) { return !f.staged; }))),
      batch_fields_(std::move(batch_fields)),
      owner_pid_(::getpid()),
      slot_bytes_(slot_bytes),
      arena_bytes_(slots * slot_bytes),
      limit_bytes_(arena_bytes_) {
  if (arena_bytes_ > 0) holes_[0] = arena_bytes_;
}

std::uint64_t SlotArena::slot_bytes(const std::vector<SlotField>& fields, const StepSizes& sizes) {
  std::uint64_t bytes = 0;
  for (const SlotField& f : fields) bytes += align_up(f.bytes(sizes));
  return std::max(bytes, kCacheLineBytes);
}

bool SlotArena::room(bool starving) const {
  const std::lock_guard lock(mutex_);
  return starving || (!holes_.empty() && usage_.used_bytes < limit_bytes_);
}

Result<std::unique_ptr<SlotMemory>> SlotArena::acquire(const StepSizes& sizes, bool starving) {
  const std::uint64_t bytes = slot_bytes(fields_, sizes);
  std::unique_ptr<ArenaSlot> slot;
  {
    const std::lock_guard lock(mutex_);
    if (arena_.data() == nullptr && arena_bytes_ > 0) {
      HEADRACE_ASSIGN(arena_, PageBuffer::allocate(arena_bytes_));
    }
    if (usage_.used_bytes + usage_.outside_bytes + bytes > limit_bytes_ && !starving)
      return std::unique_ptr<SlotMemory>();
    const auto hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& h) { return h.second >= bytes; });
    if (hole == holes_.end() && !starving) return std::unique_ptr<SlotMemory>();
    slot = std::make_unique<ArenaSlot>();
    slot->arena = shared_from_this();
    slot->bytes = bytes;
    Holes left{{0, 0}};
    slot->hole = left.extract(left.begin());
    slot->fields.reserve(fields_.size());
    slot->counted = true;
    if (hole != holes_.end()) {
      slot->offset = hole->first;
      Holes::node_type rest = holes_.extract(hole);
      rest.key() += bytes;
      rest.mapped() -= bytes;
      if (rest.mapped() > 0) holes_.insert(std::move(rest));
      count(static_cast<std::int64_t>(bytes), 0);
    } else {
      discard_holes();
      slot->outside.emplace();
      count(0, static_cast<std::int64_t>(bytes));
    }
  }
  std::byte* at = arena_.data() + slot->offset;
  if (slot->outside) {  // the oldest batch must complete, whatever the caller holds
    HEADRACE_ASSIGN(*slot->outside, PageBuffer::allocate(bytes));
    at = slot->outside->data();
  }
  for (const SlotField& f : fields_) {
    slot->fields.push_back(at);
    at += align_up(f.bytes(sizes));
  }
  return std::unique_ptr<SlotMemory>(std::move(slot));
}

Batch SlotArena::deliver(std::unique_ptr<SlotMemory> memory, const StepContent& content, std::uint64_t rows,
                         std::uint64_t epoch, std::uint64_t index, std::vector<DerivedColumn> derived) {
  Batch::Parts parts;
  parts.fields = batch_fields_;
  parts.rows = rows;
  parts.epoch = epoch;
  parts.index = index;
  parts.data = memory->fields;
  parts.data.resize(num_delivered_);
  std::vector<std::shared_ptr<const std::vector<std::int64_t>>> offsets(content.starts.size());
  const bool padded = !content.lengths.empty();
  for (std::size_t i = 0; padded && i < num_delivered_; ++i)
    parts.widths.push_back(fields_[i].ragged ? std::optional(content.width(fields_[i].group)) : std::nullopt);
  for (std::size_t i = 0; i < num_delivered_; ++i) {
    SlotField f = fields_[i];
    f.ragged = f.ragged && !padded;
    if (f.ragged && !offsets[f.group])
      offsets[f.group] =
          std::make_shared<std::vector<std::int64_t>>(content.starts[f.group].begin(), content.starts[f.group].end());
    parts.offsets.push_back(f.ragged ? offsets[f.group] : nullptr);
  }
  static_cast<ArenaSlot&>(*memory).delivered = true;
  parts.holders.assign(num_delivered_, std::shared_ptr<SlotMemory>(std::move(memory)));
  for (DerivedColumn& column : derived) {
    parts.data.push_back(static_cast<std::byte*>(column.memory.get()));
    parts.holders.push_back(std::move(column.memory));
    parts.offsets.emplace_back();
    if (padded) parts.widths.push_back(column.width);
  }
  if (parts.array_rows = array_rows_of(num_delivered_, rows, derived); !parts.array_rows.empty())
    for (std::size_t f = 0; f < num_delivered_; ++f)
      if (parts.offsets[f]) parts.array_rows[f] = static_cast<std::uint64_t>(parts.offsets[f]->back());
  return Batch(std::move(parts));
}

void SlotArena::give_back(std::uint64_t offset, std::uint64_t bytes, bool outside, Holes::node_type hole) {
  if (::getpid() != owner_pid_) return;  // a forked child owns a copy of the pages, not of the threads and locks
  {
    const std::lock_guard lock(mutex_);
    if (outside) return count(0, -static_cast<std::int64_t>(bytes));
    count(-static_cast<std::int64_t>(bytes), 0);
    std::uint64_t begin = offset, end = offset + bytes;
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + bytes == next->first) {
      bytes += next->second;
      end = offset + bytes;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        begin = before->first;
        before->second += bytes;
        bytes = 0;
      }
    }
    if (bytes > 0) {
      hole.key() = offset;
      hole.mapped() = bytes;
      holes_.insert(std::move(hole));
    }
    if (limit_bytes_ < arena_bytes_ || usage_.outside_bytes > 0) discard(begin, end - begin);
  }
}

/// Count what batches take within the arena and outside. With the lock.
void SlotArena::count(std::int64_t used, std::int64_t outside) {
  usage_.used_bytes += static_cast<std::uint64_t>(used);
  usage_.outside_bytes += static_cast<std::uint64_t>(outside);
  usage_.peak_bytes = std::max(usage_.peak_bytes, usage_.used_bytes);
  const std::uint64_t all = usage_.used_bytes + usage_.outside_bytes, most = std::max(limit_bytes_, usage_.used_bytes);
  usage_.beyond_bytes = all - std::min(all, most);
  usage_.peak_beyond_bytes = std::max(usage_.peak_beyond_bytes, usage_.beyond_bytes);
}

void SlotArena::discard_holes() {
  for (const auto& [offset, bytes] : holes_) discard(offset, bytes);
}

/// Give the whole pages of a hole to the system. With the lock.
void SlotArena::discard(std::uint64_t offset, std::uint64_t bytes) {
  if (arena_.data() != nullptr) discard_pages(arena_.bytes().subspan(offset, bytes));
}

void SlotArena::limit_slots(std::uint64_t slots) {
  const std::lock_guard lock(mutex_);
  if (limit_bytes_ != 0) limit_bytes_ = std::min(std::max<std::uint64_t>(slots, 1) * slot_bytes_, arena_bytes_);
  if (limit_bytes_ < arena_bytes_) discard_holes();
}

void SlotArena::close() {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = 0;
  discard_holes();
}

void SlotArena::tell_released() {
  if (::getpid() != owner_pid_) return;
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_();
}

void SlotArena::set_release_callback(std::function<void()> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

SlotArena::ArenaUsage SlotArena::arena_usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

BatchMemory::Usage SlotArena::usage() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t peak = arena_.charged_bytes();
  std::uint64_t all = limit_bytes_ == arena_bytes_ ? peak : std::min(peak, std::max(limit_bytes_, usage_.used_bytes));
  if (usage_.outside_bytes > 0) all = std::min(all, usage_.used_bytes) + usage_.outside_bytes;  // holes have no pages
  return {all, peak, usage_.beyond_bytes, usage_.peak_beyond_bytes, 0};
}

}  // namespace headrace
