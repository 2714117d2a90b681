// The oracle's own context on the device, with what every later step needs there.
#ifndef WARPSMITH_JUDGE_ORACLE_DEVICE_H_
#define WARPSMITH_JUDGE_ORACLE_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "judge/kernels.h"

namespace warpsmith::judge {

// Not thread-safe; used by the thread that made it.
class OracleDevice {
 public:
  static Result<std::unique_ptr<OracleDevice>> Open(const cuda::DeviceProperties& properties,
                                                    std::string_view kernels);

  const cuda::DeviceProperties& properties() const { return context_.device(); }
  const cuda::Stream& stream() const { return stream_; }
  const Kernels& kernels() const { return kernels_; }

  // A table for a kernel, valid until the next Synchronize().
  template <typename Entry>
  Result<uint64_t> Upload(const std::vector<Entry>& entries) {
    return UploadBytes(entries.data(), entries.size() * sizeof(Entry));
  }
  // `bytes` zeroed bytes on the device for a kernel's results, until the next Synchronize(), which
  // also brings them back: Results() then points at them.
  Result<uint64_t> ReserveResults(size_t bytes);
  template <typename Entry>
  const Entry* Results(uint64_t reserved) const {
    return reinterpret_cast<const Entry*>(ResultBytes(reserved));
  }
  Status Synchronize();
  // The same, but tables and results stay reserved.
  Status Fetch();

  // Nothing of the contents is in L2 afterwards, whatever asked to stay there.
  Status FlushL2();
  // The share of a moment in which kernels of other contexts had the device.
  Result<double> ShareOfOthers();
  Status ResetPersistingL2() const { return context_.ResetPersistingL2(); }

  // Does this context still compute? After a runner was killed or has failed.
  Status Probe();

 private:
  OracleDevice(cuda::Context context, cuda::Stream stream, Kernels kernels,
               cuda::PinnedBuffer staging, cuda::DeviceBuffer tables, cuda::PinnedBuffer fetched,
               cuda::DeviceBuffer results)
      : context_(std::move(context)),
        stream_(std::move(stream)),
        kernels_(std::move(kernels)),
        staging_(std::move(staging)),
        tables_(std::move(tables)),
        fetched_(std::move(fetched)),
        results_(std::move(results)) {}
  Result<uint64_t> UploadBytes(const void* bytes, size_t size);
  const char* ResultBytes(uint64_t reserved) const;

  cuda::Context context_;
  cuda::Stream stream_;
  Kernels kernels_;
  cuda::PinnedBuffer staging_;
  cuda::DeviceBuffer tables_;
  cuda::PinnedBuffer fetched_;
  cuda::DeviceBuffer results_;
  cuda::DeviceBuffer flush_;  // several times the L2; when it is first needed
  size_t uploaded_ = 0, reserved_ = 0;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ORACLE_DEVICE_H_
