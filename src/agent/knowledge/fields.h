// The fields of the facts, each listed once (core/field_list.h): for lines of text and for rows. The
// order is that of the table's columns. An outcome has neither list: its context and gain are
// written otherwise than they are held.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_FIELDS_H_
#define WARPSMITH_AGENT_KNOWLEDGE_FIELDS_H_

#include <array>
#include <span>
#include <string_view>
#include <tuple>

#include "agent/knowledge/facts.h"
#include "core/json_fields.h"

namespace warpsmith::json_fields {

template <>
inline std::span<const Named<knowledge::Origin>> Names() {
  using knowledge::Origin;
  static constexpr std::array<Named<Origin>, 2> kOrigins = {
      {{Origin::kKnown, "known"}, {Origin::kDiscovered, "discovered"}}};
  return kOrigins;
}

}  // namespace warpsmith::json_fields

namespace warpsmith::knowledge {

// The tag is a line's "kind" and the table's name.
constexpr std::string_view TagOf(const State*) { return "state"; }
constexpr auto FieldsOf(const State*) {
  using T = State;
  return std::tuple(Needed("name", &T::name), Needed("origin", &T::origin),
                    Needed("description", &T::description));
}

constexpr std::string_view TagOf(const Technique*) { return "technique"; }
constexpr auto FieldsOf(const Technique*) {
  using T = Technique;
  return std::tuple(Needed("name", &T::name), Needed("description", &T::description),
                    Needed("source", &T::source));
}

constexpr std::string_view TagOf(const Prior*) { return "prior"; }
constexpr auto FieldsOf(const Prior*) {
  using T = Prior;
  return std::tuple(Needed("state", &T::state), Needed("technique", &T::technique),
                    Needed("mean_log_gain", &T::mean_log_gain),
                    Needed("sd_log_gain", &T::sd_log_gain), Needed("weight", &T::weight),
                    Needed("success", &T::success), Needed("source", &T::source));
}

constexpr std::string_view TagOf(const Note*) { return "note"; }
constexpr auto FieldsOf(const Note*) {
  using T = Note;
  return std::tuple(Needed("state", &T::state), Needed("technique", &T::technique),
                    Needed("text", &T::text), Needed("role", &T::role),
                    Needed("evidence", &T::evidence));
}

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_FIELDS_H_
