// Last lines of what our Python scripts print, beneath whatever a library prints above them.
#include "fuzz.h"
#include "judge/baseline/torch_gemm.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view output = fuzz::TextOf(data, size);
  const auto outcome = baseline::ReadTorchAnswer(output);
  if (fuzz::ValueOf(outcome)) {
    if (const auto* measured = std::get_if<baseline::TorchMeasured>(&*outcome)) {
      for (const baseline::TorchTimes& times : measured->times) CHECK(times.device_us > 0);
    }
  }
  return 0;
}
