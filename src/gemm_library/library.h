// The dispatch library without its C shell (include/warpsmith/gemm.h, which is the contract):
// chooses, loads and launches in the caller's context.
#ifndef WARPSMITH_GEMM_LIBRARY_LIBRARY_H_
#define WARPSMITH_GEMM_LIBRARY_LIBRARY_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "gemm_library/pack.h"
#include "gemm_library/problem.h"

struct CUstream_st;

namespace warpsmith::gemm_library {

inline constexpr size_t kMostLtWorkspaceBytes = size_t{32} << 20;

// Thread-safe.
class Library {
 public:
  // In the current context; without one in the primary context of device 0, which is made current.
  // Without a pack everything is cuBLASLt's. `check_pointers`: asks the driver about every address.
  static Result<std::unique_ptr<Library>> Create(std::optional<Pack> pack, bool check_pointers);
  ~Library();

  // Chooses at the first call of a problem (which may take milliseconds) and keeps the choice; later
  // calls only launch. Does not wait for the stream. kBadInput: the problem or an address.
  Status Run(const Problem& problem, const Addresses& addresses, CUstream_st* stream);
  // Run's choice ahead of time, for well aligned addresses and so much workspace.
  Status Prepare(const Problem& problem, size_t workspace_bytes);
  // The bytes that the choice needs where there are plenty; 0: none.
  Result<size_t> Workspace(const Problem& problem);
  // One line: the problem, what runs, its workspace, and why that was chosen.
  Result<std::string> Explain(const Problem& problem, size_t workspace_bytes);

 private:
  struct State;
  explicit Library(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// `named`, $WARPSMITH_GEMM_PACK, or warpsmith/gemm.wspack in `folder`, if it is there; nullopt:
// none of them.
std::optional<std::filesystem::path> PackPath(const std::string& named,
                                              const std::filesystem::path& folder);
// The pack that lies there. A file that was named must be there.
Result<std::optional<Pack>> FindPack(const std::string& named, const std::filesystem::path& folder);

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_LIBRARY_H_
