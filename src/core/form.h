// What a candidate may consist of.
#ifndef WARPSMITH_CORE_FORM_H_
#define WARPSMITH_CORE_FORM_H_

#include <cstdint>
#include <string_view>

namespace warpsmith {

enum class Form : uint8_t {
  kKernel,   // device code only, launched from its plan by the judge
  kProgram,  // host and device code behind one entry, which synchronises or not as it likes
};
constexpr std::string_view Name(Form form) { return form == Form::kKernel ? "kernel" : "program"; }

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_FORM_H_
