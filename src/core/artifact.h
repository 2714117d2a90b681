// What the compiler made of a candidate.
#ifndef WARPSMITH_CORE_ARTIFACT_H_
#define WARPSMITH_CORE_ARTIFACT_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace warpsmith {

// One kernel's resources, as ptxas reports them. Shared memory is the static part.
struct KernelResources {
  std::string name;
  int registers_per_thread = 0;
  int static_shared_bytes = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
};

struct Artifact {
  std::string image;  // cubin or shared library
  std::string image_sha256;
  std::string architecture;  // "sm_90a"
  std::string toolchain;     // "nvrtc 13.0"
  std::vector<KernelResources> kernels;
  int64_t writable_global_bytes = 0;       // __device__ variables the kernels may write
  std::map<std::string, int64_t> opcodes;  // SASS mnemonic -> count; empty without a disassembler
  std::vector<std::string> warnings;
  std::string log;
  double compile_ms = 0;
  bool from_cache = false;
};

struct CompileFailed {
  std::string reason;  // one line
  std::string log;
  bool timed_out = false;
};

using CompileOutcome = std::variant<Artifact, CompileFailed>;

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_ARTIFACT_H_
