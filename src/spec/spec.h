// Spec: the members of a struct, each listed once: its name, where it is, how values of it are written, and a sentence
// for people. What reads or writes such a struct anywhere follows from the list: run files, the command line, Python,
// pickles, printed forms and the reference pages. docs/guides/adding-an-option.md is the recipe.
//
// A struct is described by a function that is found beside its type:
//
//   const Spec& spec_of(const WindowOptions*) {
//     static const Spec spec = Spec::of<WindowOptions>("windows", "Samples are runs of consecutive rows.", {
//         member<&WindowOptions::length>("length", "Rows of a window.").required().at_least(1),
//         member<&WindowOptions::lookahead>("lookahead", "Rows that follow in each window.")});
//     return spec;
//   }
//
// Members are only appended to a list, and never change their type or default: recipes of earlier versions have fewer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/packed.h"
#include "base/result.h"
#include "spec/value.h"
#include "spec/value_codec.h"

namespace headrace {

/// One member of a struct, without the struct's type.
struct Member {
  std::string_view name;  ///< "length"; in a run file, as Python's keyword, with dashes on the command line.
  std::string_view doc;   ///< One sentence for people, with the unit; without its full stop.
  const ValueType* type = nullptr;
  void* (*in)(void* object) = nullptr;  ///< Return the member of an object.
  Bounds bounds = {};
  std::string_view expected = {};   ///< What it may be, where that is more than its type says.
  std::string_view otherwise = {};  ///< What holds where it is not given, where that is more than its default.
  std::string_view more = {};       ///< Further sentences, where one is not enough.
  std::string_view hint = {};       ///< What to do where a value is refused that says nothing itself.
  bool is_required = false;
  bool is_bare = false;            ///< The struct may be written as this member alone: `windows: 1024`.
  bool is_bare_map = false;        ///< So it may where that is a map, which then has none of the members' names.
  bool is_recipe_only = false;     ///< Found out, not said: part of recipes alone.
  bool is_code_only = false;       ///< An object of the program: an argument in Python alone.
  bool is_on_command_line = true;  ///< An option of commands.

  Member&& required() && { return is_required = true, std::move(*this); }
  Member&& bare() && { return is_bare = true, std::move(*this); }
  Member&& bare_map() && { return is_bare = is_bare_map = true, std::move(*this); }
  Member&& recipe_only() && { return is_recipe_only = true, std::move(*this); }
  Member&& code_only() && { return is_code_only = true, is_on_command_line = false, std::move(*this); }
  Member&& not_on_command_line() && { return is_on_command_line = false, std::move(*this); }
  Member&& at_least(std::uint64_t least) && { return bounds.least = least, std::move(*this); }
  Member&& at_most(std::uint64_t most) && { return bounds.most = most, std::move(*this); }
  Member&& else_(std::string_view text) && { return otherwise = text, std::move(*this); }
  Member&& cure(std::string_view text) && { return hint = text, std::move(*this); }
  Member&& detail(std::string_view text) && { return more = text, std::move(*this); }
  Member&& takes(std::string_view text) && { return expected = text, std::move(*this); }

  /// Return what the member may be, in words: "a whole number of at least 1".
  [[nodiscard]] std::string words() const;
};

/// The list of a struct's members.
class Spec {
 public:
  template <class S>
  static Spec of(std::string_view name, std::string_view doc, std::vector<Member> members);

  /// Add a rule that holds between members, checked whenever an object was read. It may complete the object, more than
  /// once. Errors: what is wrong, without the place.
  template <class S>
  Spec&& rule(Status (*holds)(S& object, const ReadContext& context)) &&;
  /// Add what is done to a copy of an object before it is written as values: the opposite of what a rule completes.
  template <class S>
  Spec&& before_writing(void (*change)(S& object)) &&;

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view doc() const { return doc_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const Member* find(std::string_view name) const;
  /// Return a new object with every member's default.
  [[nodiscard]] std::shared_ptr<void> make() const { return make_(); }
  [[nodiscard]] std::shared_ptr<void> copy(const void* object) const { return copy_(object); }
  /// Return true if two objects have equal values of a member.
  [[nodiscard]] bool is_same(const Member& member, const void* a, const void* b) const;
  /// Give a member its default again.
  void reset(const Member& member, void* object) const;

  /// Read one member. A refusal that says nothing of what to do gets the member's cure, or what holds without it.
  Status read_member(const Member& member, const Value& value, const At& at, void* object) const;
  /// Read an object: a map of its members, or its bare member alone. Members that are not given stay as they are.
  /// Errors: kInvalidArgument, with the line and the place.
  Status read(const Value& value, const At& at, void* to) const;
  /// Read the entries of a map that are members of this, and leave the others: for maps of several structs.
  Status read_known(const Value& map, const At& at, void* to) const;
  /// Return the value of one member.
  [[nodiscard]] Value value_of(const Member& member, const void* from) const;
  /// Return the members that differ from their defaults, and those that are required; the bare member's value where it
  /// is alone.
  [[nodiscard]] Value write(const void* from) const;
  [[nodiscard]] ValueMap write_map(const void* from) const;
  /// Return all members, each in its form.
  [[nodiscard]] Value write_all(const void* from) const;
  /// Write and read all members as bytes. A reader that knows more members than were written leaves the rest as they
  /// are; one that knows fewer fails. What breaks a rule fails.
  void pack(PackedWriter& out, const void* from) const;
  void unpack(PackedReader& in, void* to) const;

 private:
  std::string_view name_, doc_;
  std::vector<Member> members_;
  std::shared_ptr<void> (*make_)() = nullptr;
  std::shared_ptr<void> (*copy_)(const void*) = nullptr;
  std::shared_ptr<const void> usual_;
  std::function<Status(void* object, const ReadContext& context)> rule_;
  std::function<void(void* object)> change_;

  Status check_rule(const Value& value, const At& at, void* object) const;
};

template <auto Pointer>
struct PointerOf;
template <class S, class T, T S::*Pointer>
struct PointerOf<Pointer> {
  using Struct = S;
  using Type = T;
  static T& in(S& object) { return object.*Pointer; }
};

/// List a member of a struct. \tparam Form  How it is written, where its type has several ways (value_codec.h).
template <auto Pointer, class Form = Plain>
Member member(std::string_view name, std::string_view doc) {
  using P = PointerOf<Pointer>;
  return {name, doc, &value_type<typename P::Type, Form>,
          [](void* object) -> void* { return &P::in(*static_cast<typename P::Struct*>(object)); }};
}

/// List a member of a struct that is a member of another.
template <auto Outer, auto Inner, class Form = Plain>
Member member_of(std::string_view name, std::string_view doc) {
  using S = typename PointerOf<Outer>::Struct;
  return {name, doc, &value_type<typename PointerOf<Inner>::Type, Form>,
          [](void* object) -> void* { return &PointerOf<Inner>::in(PointerOf<Outer>::in(*static_cast<S*>(object))); }};
}

template <class S>
Spec Spec::of(std::string_view name, std::string_view doc, std::vector<Member> members) {
  Spec spec;
  spec.name_ = name, spec.doc_ = doc, spec.members_ = std::move(members);
  spec.make_ = [] { return std::static_pointer_cast<void>(std::make_shared<S>()); };
  spec.copy_ = [](const void* from) {
    return std::static_pointer_cast<void>(std::make_shared<S>(*static_cast<const S*>(from)));
  };
  spec.usual_ = spec.make_();
  return spec;
}

template <class S>
Spec&& Spec::rule(Status (*holds)(S& object, const ReadContext& context)) && {
  rule_ = [holds](void* object, const ReadContext& context) { return holds(*static_cast<S*>(object), context); };
  return std::move(*this);
}

template <class S>
Spec&& Spec::before_writing(void (*change)(S& object)) && {
  change_ = [change](void* object) { change(*static_cast<S*>(object)); };
  return std::move(*this);
}

}  // namespace headrace
