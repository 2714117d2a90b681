#include "judge/oracle_device.h"

#include <algorithm>
#include <cstring>

namespace warpsmith::judge {
namespace {

constexpr size_t kTableBytes = size_t{1} << 20;
constexpr size_t kResultBytes = size_t{1} << 18;
constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Result<std::unique_ptr<OracleDevice>> OracleDevice::Open(const cuda::DeviceProperties& properties,
                                                         std::string_view kernels) {
  cuda::Context context = TRY(cuda::Context::Retain(properties));
  cuda::Stream stream = TRY(cuda::Stream::Create());
  Kernels loaded = TRY(Kernels::Load(kernels, properties));
  cuda::PinnedBuffer staging = TRY(cuda::PinnedBuffer::Allocate(kTableBytes));
  cuda::DeviceBuffer tables = TRY(cuda::DeviceBuffer::Allocate(kTableBytes));
  cuda::PinnedBuffer fetched = TRY(cuda::PinnedBuffer::Allocate(kResultBytes));
  cuda::DeviceBuffer results = TRY(cuda::DeviceBuffer::Allocate(kResultBytes));
  return std::unique_ptr<OracleDevice>(
      new OracleDevice(std::move(context), std::move(stream), std::move(loaded), std::move(staging),
                       std::move(tables), std::move(fetched), std::move(results)));
}

Result<uint64_t> OracleDevice::UploadBytes(const void* bytes, size_t size) {
  CHECK(uploaded_ + size <= kTableBytes);
  char* host = static_cast<char*>(staging_.data()) + uploaded_;
  std::memcpy(host, bytes, size);
  const uint64_t address = tables_.address() + uploaded_;
  TRY(cuda::CopyToDeviceAsync(address, host, size, stream_));
  uploaded_ += RoundUp(size);
  return address;
}

Result<uint64_t> OracleDevice::ReserveResults(size_t bytes) {
  CHECK(reserved_ + bytes <= kResultBytes);
  const uint64_t address = results_.address() + reserved_;
  TRY(cuda::FillAsync(address, 0, bytes, stream_));
  reserved_ += RoundUp(bytes);
  return address;
}

const char* OracleDevice::ResultBytes(uint64_t reserved) const {
  return static_cast<const char*>(fetched_.data()) + (reserved - results_.address());
}

Status OracleDevice::Fetch() {
  if (reserved_ > 0) {
    TRY(cuda::CopyToHostAsync(fetched_.data(), results_.address(), reserved_, stream_));
  }
  return stream_.Synchronize();
}

Status OracleDevice::Synchronize() {
  TRY(Fetch());
  uploaded_ = 0;
  reserved_ = 0;
  return {};
}

// Four times the L2 is read: a cache need not drop the oldest line first.
Status OracleDevice::FlushL2() {
  constexpr int64_t kLeastBytes = int64_t{128} << 20;
  if (flush_.bytes() == 0) {
    const int64_t bytes = std::max(kLeastBytes, 4 * properties().l2_bytes);
    flush_ = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(bytes)));
  }
  TRY(context_.ResetPersistingL2());
  return kernels_.RunEvict(flush_.address(), static_cast<int64_t>(flush_.bytes()), flush_.address(),
                           stream_);
}

// A kernel reads the device's clock all the time. Contexts take turns, so where it sees a gap,
// another context was at work. On an H200 its turns lasted 2.4 ms and came every 4.5 ms: all looks
// of 4 to 20 ms saw them, and none saw a gap where the other context was idle.
Result<double> OracleDevice::ShareOfOthers() {
  constexpr uint32_t kWatchUs = 8'000;
  const uint64_t away_ns = TRY(ReserveResults(sizeof(uint64_t)));
  TRY(kernels_.RunWatch(kWatchUs, away_ns, stream_));
  TRY(Synchronize());
  return static_cast<double>(*Results<uint64_t>(away_ns)) * 1e-3 / kWatchUs;
}

Status OracleDevice::Probe() {
  constexpr uint32_t kSign = 0x600d600d;
  const uint64_t target = TRY(ReserveResults(sizeof(uint32_t)));
  TRY(kernels_.RunProbe(target, kSign, stream_));
  TRY(Synchronize());
  if (*Results<uint32_t>(target) == kSign) return {};
  return Error{ErrorCode::kInternal, "the device no longer computes what it is told",
               "look at `nvidia-smi -q` and the kernel log for Xid errors"};
}

}  // namespace warpsmith::judge
