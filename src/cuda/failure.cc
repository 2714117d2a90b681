#include "cuda/failure.h"

#include <utility>

namespace warpsmith::cuda {
namespace {

struct CodeMeaning {
  std::string_view code;
  ErrorCode error;
  std::string_view fix;
};

constexpr std::string_view kLost = "the GPU failed: see nvidia-smi, and the kernel's log for 'Xid'";

// Codes that say something about the machine. Every other one is a fault of whoever made the call.
constexpr CodeMeaning kMeanings[] = {
    {"CUDA_ERROR_NO_DEVICE", ErrorCode::kUnavailable,
     "check nvidia-smi, and CUDA_VISIBLE_DEVICES or the container's --gpus"},
    {"CUDA_ERROR_STUB_LIBRARY", ErrorCode::kUnavailable,
     "the toolkit's stub was loaded: put the driver's libcuda.so.1 first"},
    {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", ErrorCode::kUnavailable,
     "the kernel module and libcuda.so.1 differ: reboot after a driver update"},
    {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", ErrorCode::kUnavailable,
     "forward compatibility needs a data-centre GPU: install a newer driver"},
    {"CUDA_ERROR_SYSTEM_NOT_READY", ErrorCode::kUnavailable,
     "start nvidia-fabricmanager, then try again"},
    {"CUDA_ERROR_OPERATING_SYSTEM", ErrorCode::kUnavailable,
     "the system refused: check /dev/nvidia*, limits and the container's settings"},
    {"CUDA_ERROR_OUT_OF_MEMORY", ErrorCode::kUnavailable,
     "free device memory: see nvidia-smi for other processes"},
    {"CUDA_ERROR_UNKNOWN", ErrorCode::kUnavailable, kLost},
    {"CUDA_ERROR_ECC_UNCORRECTABLE", ErrorCode::kUnavailable, kLost},
    {"CUDA_ERROR_NVLINK_UNCORRECTABLE", ErrorCode::kUnavailable, kLost},
    {"CUDA_ERROR_CONTAINED", ErrorCode::kUnavailable, kLost},
    {"CUDA_ERROR_DEVICE_UNAVAILABLE", ErrorCode::kBusy,
     "another process has the device in exclusive mode"},
    {"CUDA_ERROR_INVALID_DEVICE", ErrorCode::kUnknownDevice, "see warpsmith doctor"},
    {"CUDA_ERROR_NOT_PERMITTED", ErrorCode::kPermission, ""},
    {"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", ErrorCode::kPermission,
     "profiling is restricted to administrators: see NVIDIA's ERR_NVGPUCTRPERM page"},
    {"NVML_ERROR_NO_PERMISSION", ErrorCode::kPermission, ""},
};

constexpr CodeMeaning kFault = {"", ErrorCode::kInternal, ""};

const CodeMeaning& MeaningOf(std::string_view code) {
  for (const CodeMeaning& meaning : kMeanings) {
    if (meaning.code == code) return meaning;
  }
  return kFault;
}

bool LooksLikeCode(std::string_view text) {
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
             std::string_view::npos &&
         text.find('_') != std::string_view::npos;
}

}  // namespace

std::string BytesText(size_t bytes) { return std::to_string(bytes) + " bytes"; }

Error ErrorFrom(const Failure& failure) {
  std::string message = failure.call + ": " + failure.code + " (" + failure.words + ")";
  if (!failure.detail.empty()) message += ": " + failure.detail;
  const CodeMeaning& meaning = MeaningOf(failure.code);
  return Error{meaning.error, std::move(message), std::string(meaning.fix)};
}

std::optional<Failure> FailureFrom(const Error& error) {
  // Whoever passed the error on may have put "<where>: " before it, so the code is what is looked
  // for.
  const std::string& text = error.message;
  for (size_t open = text.find(" ("); open != std::string::npos; open = text.find(" (", open + 1)) {
    const size_t separator = text.rfind(": ", open);
    if (separator == std::string::npos) continue;
    const std::string code = text.substr(separator + 2, open - separator - 2);
    const size_t close = text.find(')', open);
    if (!LooksLikeCode(code) || close == std::string::npos) continue;
    const size_t call = text.rfind(' ', separator);
    const size_t call_start = call == std::string::npos ? 0 : call + 1;
    Failure failure{text.substr(call_start, separator - call_start), code,
                    text.substr(open + 2, close - open - 2), ""};
    if (text.compare(close, 3, "): ") == 0) failure.detail = text.substr(close + 3);
    return failure;
  }
  return std::nullopt;
}

}  // namespace warpsmith::cuda
