// Counts elements that are not as they should be, in the order of a stream; on the fake device,
// which reads no PTX, on the host.
#ifndef WARPSMITH_TESTS_LIBRARY_DIFFERENCES_H_
#define WARPSMITH_TESTS_LIBRARY_DIFFERENCES_H_

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cuda/guest.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"

namespace warpsmith::check {

class Differences {
 public:
  static Result<Differences> Make();

  // Of 16-bit elements; both buffers are as large.
  Status Add(const cuda::DeviceBuffer& wanted, const cuda::DeviceBuffer& found,
             const cuda::Stream& stream);
  // Waits for what was added.
  Result<uint64_t> Count(const cuda::Stream& stream);

 private:
  std::optional<cuda::Module> module_;
  std::optional<cuda::FixedLaunch> launch_;
  cuda::DeviceBuffer count_;
  uint64_t on_host_ = 0;
};

}  // namespace warpsmith::check

#endif  // WARPSMITH_TESTS_LIBRARY_DIFFERENCES_H_
