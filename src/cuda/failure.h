// A failed CUDA call as an Error, and back again.
//
// The text is always "<call>: <CODE> (<the library's words>): <the argument that matters>", so that
// a runner can tell a candidate's fault (RunFailed) from ours after the Error crossed a process.
#ifndef WARPSMITH_CUDA_FAILURE_H_
#define WARPSMITH_CUDA_FAILURE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"

namespace warpsmith::cuda {

struct Failure {
  std::string call;    // "cuLaunchKernelEx"
  std::string code;    // "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::string words;   // "an illegal memory access was encountered"
  std::string detail;  // "kernel 'gemm', grid 128 x 1 x 1, ..."
};

Error ErrorFrom(const Failure& failure);

std::string BytesText(size_t bytes);  // "512 bytes", as a detail

// The failure behind an error of this folder; nullopt for any other error.
std::optional<Failure> FailureFrom(const Error& error);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_FAILURE_H_
