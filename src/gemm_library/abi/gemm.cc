// The C shell of the dispatch library: no exception and no C++ type leaves here.
#include <warpsmith/gemm.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/build_info.h"
#include "cuda/failure.h"
#include "gemm_library/library.h"

struct warpsmith_gemm {
  std::unique_ptr<warpsmith::gemm_library::Library> library;
};

namespace {

using warpsmith::BadInput;
using warpsmith::Error;
using warpsmith::ErrorCode;
using warpsmith::Result;
using warpsmith::Status;
using warpsmith::gemm_library::Addresses;
using warpsmith::gemm_library::Library;
using warpsmith::gemm_library::Problem;

std::string& LastError() {
  static thread_local std::string text;
  return text;
}

warpsmith_gemm_status StatusOf(const Error& error) {
  if (const auto failure = warpsmith::cuda::FailureFrom(error)) {
    return failure->code == "CUBLAS_STATUS_NOT_SUPPORTED" ? WARPSMITH_GEMM_UNSUPPORTED
                                                          : WARPSMITH_GEMM_CUDA_ERROR;
  }
  switch (error.code) {
    case ErrorCode::kBadInput:
      return WARPSMITH_GEMM_INVALID_ARGUMENT;
    case ErrorCode::kUnavailable:
      return WARPSMITH_GEMM_UNAVAILABLE;
    default:
      return WARPSMITH_GEMM_INTERNAL;
  }
}

// Runs `body`, which gives a Status, and turns whatever comes of it into a code and a text.
template <typename Body>
warpsmith_gemm_status Guarded(const Body& body) {
  try {
    const Status status = body();
    if (status.ok()) return WARPSMITH_GEMM_OK;
    LastError() = status.error().Line();
    return StatusOf(status.error());
  } catch (const std::bad_alloc&) {
    LastError().clear();  // nothing can be allocated for a text
    return WARPSMITH_GEMM_INTERNAL;
  } catch (const std::exception& exception) {
    LastError() = std::string("unexpected: ") + exception.what();
    return WARPSMITH_GEMM_INTERNAL;
  }
}

Status CheckFlag(const char* name, int value) {
  if (value == 0 || value == 1) return {};
  return BadInput(std::string(name) + " is " + std::to_string(value) + ", expected 0 or 1");
}

Result<Problem> ProblemOf(const warpsmith_gemm* library, const warpsmith_gemm_problem* given) {
  if (library == nullptr || library->library == nullptr) return BadInput("the library is null");
  if (given == nullptr) return BadInput("the problem is null");
  if (given->struct_bytes != sizeof(*given)) {
    return BadInput("the problem's struct_bytes is " + std::to_string(given->struct_bytes) +
                    ", expected " + std::to_string(sizeof(*given)));
  }
  if (given->dtype != WARPSMITH_GEMM_F16 && given->dtype != WARPSMITH_GEMM_BF16) {
    return BadInput("dtype is " + std::to_string(static_cast<int>(given->dtype)) +
                    ", expected WARPSMITH_GEMM_F16 or WARPSMITH_GEMM_BF16");
  }
  // On the way of every call: one branch while both are right.
  if ((given->transpose_a | given->transpose_b) >> 1 != 0) {
    TRY(CheckFlag("transpose_a", given->transpose_a));
    TRY(CheckFlag("transpose_b", given->transpose_b));
  }
  Problem problem;
  problem.m = given->m;
  problem.n = given->n;
  problem.k = given->k;
  problem.lda = given->lda;
  problem.ldb = given->ldb;
  problem.ldc = given->ldc;
  problem.transpose_a = given->transpose_a != 0;
  problem.transpose_b = given->transpose_b != 0;
  problem.dtype =
      given->dtype == WARPSMITH_GEMM_F16 ? warpsmith::DType::kF16 : warpsmith::DType::kBF16;
  problem.alpha = given->alpha;
  problem.beta = given->beta;
  return problem;
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The folder that this shared library lies in.
std::filesystem::path OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&warpsmith_gemm_version), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

}  // namespace

extern "C" {

warpsmith_gemm_status warpsmith_gemm_create(const warpsmith_gemm_options* options,
                                            warpsmith_gemm** library) {
  if (library != nullptr) *library = nullptr;
  bool is_pack_wrong = false;
  const warpsmith_gemm_status status = Guarded([&]() -> Status {
    if (library == nullptr)
      return BadInput("there is nowhere to put the library: the pointer is null");
    if (options != nullptr && options->struct_bytes != sizeof(*options)) {
      return BadInput("the options' struct_bytes is " + std::to_string(options->struct_bytes) +
                      ", expected " + std::to_string(sizeof(*options)));
    }
    const bool is_named = options != nullptr && options->pack != nullptr;
    auto pack = warpsmith::gemm_library::FindPack(is_named ? options->pack : "", OwnFolder());
    is_pack_wrong = !pack.ok();
    if (!pack.ok()) return pack.error();
    const bool check = options != nullptr && options->check_pointers != 0;
    auto made = TRY(Library::Create(std::move(pack).value(), check));
    *library = new warpsmith_gemm{std::move(made)};
    return {};
  });
  return is_pack_wrong ? WARPSMITH_GEMM_BAD_PACK : status;
}

void warpsmith_gemm_destroy(warpsmith_gemm* library) { delete library; }

warpsmith_gemm_status warpsmith_gemm_workspace(warpsmith_gemm* library,
                                               const warpsmith_gemm_problem* problem,
                                               size_t* bytes) {
  return Guarded([&]() -> Status {
    if (bytes == nullptr) return BadInput("there is nowhere to put the size: the pointer is null");
    const Problem wanted = TRY(ProblemOf(library, problem));
    *bytes = TRY(library->library->Workspace(wanted));
    return {};
  });
}

warpsmith_gemm_status warpsmith_gemm_prepare(warpsmith_gemm* library,
                                             const warpsmith_gemm_problem* problem,
                                             size_t workspace_bytes) {
  return Guarded([&]() -> Status {
    const Problem wanted = TRY(ProblemOf(library, problem));
    return library->library->Prepare(wanted, workspace_bytes);
  });
}

warpsmith_gemm_status warpsmith_gemm_run(warpsmith_gemm* library,
                                         const warpsmith_gemm_problem* problem, const void* a,
                                         const void* b, void* c, void* workspace,
                                         size_t workspace_bytes, void* stream) {
  return Guarded([&]() -> Status {
    const Problem wanted = TRY(ProblemOf(library, problem));
    const Addresses addresses{AddressOf(a), AddressOf(b), AddressOf(c), AddressOf(workspace),
                              workspace_bytes};
    return library->library->Run(wanted, addresses, static_cast<CUstream_st*>(stream));
  });
}

warpsmith_gemm_status warpsmith_gemm_explain(warpsmith_gemm* library,
                                             const warpsmith_gemm_problem* problem,
                                             size_t workspace_bytes, char* text, size_t bytes) {
  return Guarded([&]() -> Status {
    if (text == nullptr || bytes == 0) return BadInput("there is no room for the text");
    text[0] = '\0';
    const Problem wanted = TRY(ProblemOf(library, problem));
    const std::string words = TRY(library->library->Explain(wanted, workspace_bytes));
    const size_t length = std::min(words.size(), bytes - 1);
    std::memcpy(text, words.data(), length);
    text[length] = '\0';
    return {};
  });
}

const char* warpsmith_gemm_status_text(warpsmith_gemm_status status) {
  switch (status) {
    case WARPSMITH_GEMM_OK:
      return "ok";
    case WARPSMITH_GEMM_INVALID_ARGUMENT:
      return "invalid argument";
    case WARPSMITH_GEMM_UNAVAILABLE:
      return "unavailable";
    case WARPSMITH_GEMM_UNSUPPORTED:
      return "unsupported";
    case WARPSMITH_GEMM_BAD_PACK:
      return "bad pack of kernels";
    case WARPSMITH_GEMM_CUDA_ERROR:
      return "CUDA error";
    case WARPSMITH_GEMM_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const char* warpsmith_gemm_last_error(void) { return LastError().c_str(); }

const char* warpsmith_gemm_version(void) {
  return warpsmith::build_info::Version().data();  // a literal: it ends with a NUL
}

}  // extern "C"
