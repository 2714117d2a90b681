// What a .cu file holds, as far as it can be told without a compiler: its functions, their
// parameters, and how its kernels are launched. Lenient: what is not understood is left out.
#ifndef WARPSMITH_TASK_CUDA_SCAN_H_
#define WARPSMITH_TASK_CUDA_SCAN_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::task {

struct CudaParameter {
  std::string type;     // as written, without the name: "const float*"
  std::string element;  // the bare type, without const, restrict and stars: "float"
  std::string name;     // empty where it has none
  int pointers = 0;     // stars and array brackets
  bool constant = false;
};

// kernel<<<configuration>>>(arguments)
struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> configuration, arguments;
};

struct CudaFunction {
  std::string name;
  std::string result;  // "void", "int": as written, without linkage and attributes
  bool kernel = false;
  bool is_template = false;
  bool c_linkage = false;
  bool local = false;   // static, or in an unnamed namespace
  bool scoped = false;  // in a named namespace
  size_t offset = 0;    // where its definition begins, template and attributes included
  std::vector<CudaParameter> parameters;
  // Of its body:
  std::vector<CudaLaunch> launches;
  // What local names stand for: "blocks" -> "(n+255)/256".
  std::map<std::string, std::string> values;
  bool manages_memory = false;  // cudaMalloc, cudaMemcpy and the like
  bool dynamic_shared = false;  // extern __shared__
};

struct CudaFile {
  std::vector<CudaFunction> functions;        // definitions of kernels and of host functions
  std::map<std::string, std::string> values;  // macros and constants of the whole file
  std::vector<std::string> includes;          // "own.h" with quotes
  std::vector<std::string> system_includes;   // <cstdio>
};

CudaFile ScanCuda(std::string_view source);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_CUDA_SCAN_H_
