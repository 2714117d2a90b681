// What a .cu file holds, as far as it can be told without a compiler: its functions, their
// parameters, and how its kernels are launched. Lenient: what is not understood is left out.
#ifndef WARPSMITH_TASK_CUDA_SCAN_H_
#define WARPSMITH_TASK_CUDA_SCAN_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpsmith::task {

struct CudaParameter {
  std::string type;     // as written, without the name: "const float*"
  std::string element;  // the bare type, without const, restrict and stars: "float"
  std::string name;     // empty where it has none
  int pointers = 0;     // stars and array brackets
  bool constant = false;
};

// kernel<<<configuration>>>(arguments), or a plain call: of no configuration.
struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> configuration, arguments;
  size_t offset = 0;
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
  std::string body;
  size_t body_at = 0;
  // Of its body:
  std::vector<CudaLaunch> launches;
  std::vector<CudaLaunch> calls;  // of the file's functions, and of CUDA's for memory
  // What local names stand for, from where on: {"blocks", 420} -> "(n+255)/256"; "grid.x" too.
  std::map<std::pair<std::string, size_t>, std::string> values;
  std::set<std::string> axes;   // beyond x that it uses: "threadIdx.y"
  bool manages_memory = false;  // cudaMalloc, cudaMemcpy and the like
  bool dynamic_shared = false;  // extern __shared__
};

struct CudaFile {
  std::vector<CudaFunction> functions;  // definitions of kernels and of host functions
  std::vector<CudaFunction> helpers;    // of functions of the device alone
  // Macros and constants of the whole file; "IDX(" -> "(i,j)((i)*N+(j))" where it has parameters.
  std::map<std::string, std::string> values;
  std::vector<std::string> includes;         // "own.h" with quotes
  std::vector<std::string> system_includes;  // <cstdio>
};

CudaFile ScanCuda(std::string_view source);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_CUDA_SCAN_H_
