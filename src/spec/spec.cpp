#include "spec/spec.h"

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

const Value* find_in(const ValueMap& map, std::string_view key) {
  const auto entry = std::ranges::find(map, key, &ValueEntry::key);
  return entry == map.end() ? nullptr : &entry->value;
}

/// Objects are read through pointers to const, and no function that is given one writes.
void* writable(const void* object) {
  return const_cast<void*>(object);
}

}  // namespace

std::string Member::words() const {
  return expected.empty() ? type->words(bounds) : std::string(expected);
}

std::vector<std::string> Spec::names() const {
  std::vector<std::string> names;
  for (const Member& one : members_)
    if (!one.is_recipe_only) names.emplace_back(one.name);
  return names;
}

const Member* Spec::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : &*found;
}

bool Spec::is_same(const Member& one, const void* a, const void* b) const {
  PackedWriter left, right;
  one.type->pack(left, one.in(writable(a)));
  one.type->pack(right, one.in(writable(b)));
  return left.bytes() == right.bytes();
}

void Spec::reset(const Member& member, void* object) const {
  PackedWriter out;
  member.type->pack(out, member.in(writable(usual_.get())));
  const std::string packed = out.take();
  PackedReader in(packed);
  member.type->unpack(in, {}, member.in(object));
}

Status Spec::read_member(const Member& one, const Value& value, const At& at, void* object) const {
  Status status = one.type->read(value, at, one.bounds, one.in(object));
  if (status.ok() || !status.error().hint().empty()) return status;
  Error& error = status.error();
  if (!one.hint.empty()) return std::move(error.with_hint(one.hint));
  if (one.is_required) return std::move(error);
  const Value usual = value_of(one, usual_.get());
  const std::string text = !one.otherwise.empty() ? std::string(one.otherwise) : usual.text() ? *usual.text() : "";
  return std::move(text.empty() ? error : error.with_hint("Leave it out for " + text + "."));
}

Status Spec::read_known(const Value& value, const At& at, void* to) const {
  const ValueMap& map = *value.map();
  for (const ValueEntry& entry : map) {
    const Member* const one = find(entry.key);
    if (!one || one->is_recipe_only) continue;
    const At here{&at, entry.key};
    HEADRACE_TRY(read_member(*one, entry.value, here, to));
  }
  for (const Member& one : members_) {
    const Value* const given = one.is_required ? find_in(map, one.name) : nullptr;
    if (!one.is_required || (given && !given->is_none())) continue;
    const At here{&at, std::string(one.name)};
    return refused({{}, false, value.line}, here, "missing: " + one.words(), one.doc);
  }
  return check_rule(value, at, to);
}

Status Spec::check_rule(const Value& value, const At& at, void* object) const {
  if (!rule_) return {};
  Status status = rule_(object, at.read_context());
  if (status.ok()) return {};
  Error error = refused({{}, false, value.line}, at, status.error().message(), status.error().hint());
  return Error(status.error().code(), error.message()).with_hint(error.hint());
}

Status Spec::read(const Value& value, const At& at, void* to) const {
  const auto bare = std::ranges::find(members_, true, &Member::is_bare);
  const ValueMap* const map = value.map();
  const bool names_none = map && !map->empty() &&
                          std::ranges::none_of(*map, [&](const ValueEntry& one) { return find(one.key) != nullptr; });
  if (map && !(names_none && bare != members_.end() && bare->is_bare_map)) {
    HEADRACE_TRY(check_keys(*map, at, names()));
    return read_known(value, at, to);
  }
  if (bare == members_.end()) return unexpected(value, at, "a map of keys and values");
  HEADRACE_TRY(read_member(*bare, value, at, to));
  return check_rule(value, at, to);
}

ValueMap Spec::write_map(const void* from) const {
  std::shared_ptr<void> changed;
  if (change_) {
    changed = copy_(from);
    change_(changed.get());
    from = changed.get();
  }
  ValueMap map;
  for (const Member& one : members_) {
    if (one.is_recipe_only || (!one.is_required && is_same(one, from, usual_.get()))) continue;
    map.push_back({std::string(one.name), one.type->write(one.in(writable(from))), 0});
  }
  return map;
}

Value Spec::value_of(const Member& one, const void* from) const {
  return one.type->write(one.in(writable(from)));
}

Value Spec::write(const void* from) const {
  ValueMap map = write_map(from);
  if (map.size() == 1 && find(map[0].key)->is_bare) return std::move(map[0].value);
  return {std::move(map)};
}

Value Spec::write_all(const void* from) const {
  ValueMap map;
  for (const Member& one : members_) map.push_back({std::string(one.name), value_of(one, from), 0});
  return {std::move(map)};
}

void Spec::pack(PackedWriter& out, const void* from) const {
  out.number(members_.size());
  for (const Member& one : members_) one.type->pack(out, one.in(writable(from)));
}

void Spec::unpack(PackedReader& in, void* to) const {
  const std::uint64_t written = in.number_up_to(members_.size());
  for (std::uint64_t i = 0; in.ok() && i < written; ++i)
    members_[i].type->unpack(in, members_[i].bounds, members_[i].in(to));
  if (in.ok() && rule_ && !rule_(to, {}).ok()) in.fail();
}

}  // namespace headrace
