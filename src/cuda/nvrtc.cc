#include "cuda/nvrtc.h"

#include <nvrtc.h>

#include <algorithm>

#include "cuda/failure.h"
#include "cuda/library.h"

namespace warpsmith::cuda {
namespace {

// clang-format off
#define WARPSMITH_NVRTC_FUNCTIONS(X)                                              \
  X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcGetNumSupportedArchs)             \
  X(nvrtcGetSupportedArchs) X(nvrtcCreateProgram) X(nvrtcDestroyProgram)          \
  X(nvrtcCompileProgram) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) X(nvrtcGetPTXSize) \
  X(nvrtcGetPTX) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)
// clang-format on

struct NvrtcApi {
  WARPSMITH_NVRTC_FUNCTIONS(WARPSMITH_MEMBER)
  std::string path;
};

constexpr char kInstallNvrtc[] =
    "install NVRTC 13: pip install nvidia-cuda-nvrtc, or a CUDA 13 toolkit";

// NVRTC opens its builtins by their plain name, which works only where the dynamic loader looks by
// itself. Once they are open from the folder that NVRTC came from, that name finds them.
Status OpenBuiltins(const NvrtcApi& api) {
  int major = 0, minor = 0;
  CHECK(api.nvrtcVersion(&major, &minor) == NVRTC_SUCCESS);
  const std::string soname =
      "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  TRY(Library::Open(soname, kInstallNvrtc));
  return {};
}

Result<NvrtcApi> LoadNvrtc() {
  const Library library = TRY(Library::Open("libnvrtc.so.13", kInstallNvrtc));
  NvrtcApi api;
  api.path = library.path();
  const SymbolSlot slots[] = {WARPSMITH_NVRTC_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  TRY(OpenBuiltins(api));
  return api;
}

const Result<NvrtcApi>& LoadedApi() {
  static const Result<NvrtcApi> api = LoadNvrtc();
  return api;
}

const NvrtcApi& NvrtcTable() {
  CHECK(LoadedApi().ok());
  return *LoadedApi();
}

Error NvrtcError(const char* call, nvrtcResult code, const std::string& detail) {
  return ErrorFrom({call, NvrtcTable().nvrtcGetErrorString(code), "NVRTC", detail});
}

#define NVRTC_CALL(detail, name, ...)                                \
  [&]() -> Status {                                                  \
    const nvrtcResult nvrtc_result = NvrtcTable().name(__VA_ARGS__); \
    if (nvrtc_result == NVRTC_SUCCESS) return {};                    \
    return NvrtcError(#name, nvrtc_result, detail);                  \
  }()

// A program from creation to destruction.
class Program {
 public:
  static Result<Program> Create(const NvrtcInput& input) {
    std::vector<const char*> texts, names;
    for (const auto& [name, text] : input.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    Program program;
    TRY(NVRTC_CALL(input.name, nvrtcCreateProgram, &program.handle_, input.source.c_str(),
                   input.name.c_str(), static_cast<int>(names.size()), texts.data(), names.data()));
    return program;
  }
  Program(Program&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Program& operator=(Program&&) = delete;
  ~Program() {
    if (handle_ != nullptr) NvrtcTable().nvrtcDestroyProgram(&handle_);
  }

  nvrtcResult Compile(const std::vector<std::string>& options) const {
    std::vector<const char*> arguments;
    for (const std::string& option : options) arguments.push_back(option.c_str());
    return NvrtcTable().nvrtcCompileProgram(handle_, static_cast<int>(arguments.size()),
                                            arguments.data());
  }

  Result<std::string> Log() const {
    size_t bytes = 0;
    TRY(NVRTC_CALL("", nvrtcGetProgramLogSize, handle_, &bytes));
    std::string log(bytes, '\0');
    TRY(NVRTC_CALL("", nvrtcGetProgramLog, handle_, log.data()));
    log.resize(std::min(bytes, log.find('\0')));  // the size counts a NUL
    return log;
  }

  Result<std::string> Cubin() const {
    size_t bytes = 0;
    TRY(NVRTC_CALL("", nvrtcGetCUBINSize, handle_, &bytes));
    std::string cubin(bytes, '\0');
    TRY(NVRTC_CALL("", nvrtcGetCUBIN, handle_, cubin.data()));
    return cubin;
  }

  Result<std::string> Ptx() const {
    size_t bytes = 0;
    TRY(NVRTC_CALL("", nvrtcGetPTXSize, handle_, &bytes));
    std::string ptx(bytes, '\0');
    TRY(NVRTC_CALL("", nvrtcGetPTX, handle_, ptx.data()));
    ptx.resize(std::min(bytes, ptx.find('\0')));
    return ptx;
  }

 private:
  Program() = default;
  nvrtcProgram handle_ = nullptr;
};

// These say what is wrong with the source or its flags; every other code is trouble of our own.
bool IsFaultOfTheSource(nvrtcResult code) {
  return code == NVRTC_ERROR_COMPILATION || code == NVRTC_ERROR_INVALID_OPTION ||
         code == NVRTC_ERROR_INVALID_INPUT;
}

}  // namespace

Result<const Nvrtc*> Nvrtc::Open() {
  static const Result<Nvrtc> nvrtc = Start();
  if (!nvrtc.ok()) return nvrtc.error();
  return &*nvrtc;
}

Result<Nvrtc> Nvrtc::Start() {
  if (!LoadedApi().ok()) return LoadedApi().error();
  Nvrtc nvrtc;
  nvrtc.path_ = NvrtcTable().path;
  int major = 0, minor = 0, count = 0;
  TRY(NVRTC_CALL("", nvrtcVersion, &major, &minor));
  nvrtc.version_ = major * 1000 + minor * 10;
  TRY(NVRTC_CALL("", nvrtcGetNumSupportedArchs, &count));
  nvrtc.architectures_.resize(count);
  TRY(NVRTC_CALL("", nvrtcGetSupportedArchs, nvrtc.architectures_.data()));
  return nvrtc;
}

Result<NvrtcOutput> Nvrtc::Compile(const NvrtcInput& input) const {
  const Program program = TRY(Program::Create(input));
  const nvrtcResult code = program.Compile(input.options);
  NvrtcOutput output;
  output.log = TRY(program.Log());
  output.compiled = code == NVRTC_SUCCESS;
  if (output.compiled) {
    output.cubin = TRY(program.Cubin());
    output.ptx = TRY(program.Ptx());
    return output;
  }
  if (!IsFaultOfTheSource(code)) return NvrtcError("nvrtcCompileProgram", code, input.name);
  output.failure = NvrtcTable().nvrtcGetErrorString(code);
  return output;
}

}  // namespace warpsmith::cuda
