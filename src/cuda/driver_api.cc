#include "cuda/driver_api.h"

#include <utility>

#include "cuda/driver.h"
#include "cuda/failure.h"

namespace warpsmith::cuda {
namespace {

constexpr char kInstallDriver[] =
    "install an NVIDIA driver for CUDA 13 (580 or newer); without a GPU 'warpsmith hgemm show' "
    "says "
    "what the GEMM library runs, and recordings replay measurements";

Result<int> VersionOf(const Library& library) {
  const auto get_version = reinterpret_cast<decltype(&::cuDriverGetVersion)>(
      TRY(library.Symbol(WARPSMITH_SYMBOL(cuDriverGetVersion))));
  int version = 0;
  if (get_version(&version) != CUDA_SUCCESS) {
    return Error{ErrorCode::kUnavailable, library.path() + ": cuDriverGetVersion failed",
                 kInstallDriver};
  }
  return version;
}

Result<DriverApi> LoadDriver() {
  const Library library = TRY(Library::Open("libcuda.so.1", kInstallDriver));
  // The version comes first: an old driver lacks newer symbols, and that is not what to tell.
  TRY(CheckDriverVersion(TRY(VersionOf(library))));
  DriverApi api;
  const SymbolSlot slots[] = {WARPSMITH_DRIVER_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

}  // namespace

Status CheckDriverVersion(int version) {
  if (version >= kOldestDriverVersion) return {};
  return Error{ErrorCode::kUnavailable,
               "driver supports CUDA " + VersionText(version) + ", needs " +
                   VersionText(kOldestDriverVersion),
               kInstallDriver};
}

const Result<DriverApi>& LoadDriverApi() {
  static const Result<DriverApi> api = LoadDriver();
  return api;
}

const DriverApi& Api() {
  static const Result<DriverApi>& api = LoadDriverApi();
  CHECK(api.ok());
  return *api;
}

Error DriverError(const char* call, CUresult code, std::string detail) {
  const char* name = nullptr;
  const char* words = nullptr;
  Api().cuGetErrorName(code, &name);
  Api().cuGetErrorString(code, &words);
  return ErrorFrom({call, name != nullptr ? name : "CUDA_ERROR_" + std::to_string(code),
                    words != nullptr ? words : "unknown to this driver", std::move(detail)});
}

}  // namespace warpsmith::cuda
