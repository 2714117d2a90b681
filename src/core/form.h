// What a candidate may consist of.
#ifndef WARPSMITH_CORE_FORM_H_
#define WARPSMITH_CORE_FORM_H_

#include <cstdint>

namespace warpsmith {

enum class Form : uint8_t {
  kKernel,   // device code only, launched from its plan by the judge
  kProgram,  // host and device code behind one entry, which synchronises or not as it likes
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_FORM_H_
