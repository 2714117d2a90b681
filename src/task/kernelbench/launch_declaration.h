// The declaration of launch_gpu_implementation in a KernelBench-CUDA driver: what a candidate of
// that problem must define.
#ifndef WARPSMITH_TASK_KERNELBENCH_LAUNCH_DECLARATION_H_
#define WARPSMITH_TASK_KERNELBENCH_LAUNCH_DECLARATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::kernelbench {

inline constexpr std::string_view kLaunchName = "launch_gpu_implementation";

struct LaunchParameter {
  std::string type;  // "const void*"
  std::string name;  // the driver's own, or "argument3"
  bool operator==(const LaunchParameter&) const = default;
};

struct LaunchDeclaration {
  bool c_linkage = false;
  std::string returns = "void";
  std::vector<LaunchParameter> parameters;
  bool operator==(const LaunchDeclaration&) const = default;
};

// The first declaration at namespace scope in C++ text, whatever comments, literals, default
// arguments and line breaks surround it. kBadInput, with what is missing, where there is none or
// where its form cannot be repeated (function pointers and arrays as parameters, templates).
Result<LaunchDeclaration> FindLaunchDeclaration(std::string_view driver);

// The definitions at namespace scope of a candidate's text; those whose form is not understood, and
// static ones, are left out.
std::vector<LaunchDeclaration> FindLaunchDefinitions(std::string_view source);

// On one line, without comments and default arguments, ending before the semicolon.
std::string DeclarationText(const LaunchDeclaration& declaration);

// A definition that hands every argument to warpsmith::capture::Call (torch/warpsmith_driver).
std::string CapturingDefinition(const LaunchDeclaration& declaration);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_LAUNCH_DECLARATION_H_
