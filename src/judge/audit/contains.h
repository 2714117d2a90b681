#ifndef WARPSMITH_JUDGE_AUDIT_CONTAINS_H_
#define WARPSMITH_JUDGE_AUDIT_CONTAINS_H_

#include <string_view>

namespace warpsmith::audit {

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_CONTAINS_H_
