// What a task for a user's own kernel could look like: guessed from its parameters and from how it
// is launched. Private to this folder: scaffold.h writes it down.
#ifndef WARPSMITH_TASK_SCAFFOLD_GUESS_H_
#define WARPSMITH_TASK_SCAFFOLD_GUESS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/cuda_tokens.h"
#include "core/dtype.h"
#include "core/expression.h"
#include "task/cuda_scan.h"

namespace warpsmith::task {

struct GuessedTensor {
  std::string name;
  DType dtype = DType::kF32;
  bool output = false;
  std::vector<std::string> shape;
  bool read_first = false, guarded = false;  // read before it is written; some of it may not be
  std::string bytes = {};                    // that were allocated for it; empty: not known
};
struct GuessedSize {
  std::string name;
  int64_t value = 0, odd_value = 0;  // of the shown and of the hidden workload; 0: not known
  bool invented = false;             // no launch shows it, or it is too much for a try
};
// One parameter of the function: kind is "tensor", "i32", "i64", "f32", "f64" or "none" (a stream),
// value the tensor's or size's name, or a number.
struct GuessedArgument {
  std::string kind, value;
  bool invented = false;  // no launch shows the number
};

// A function from which the task's is called, or that itself: its text for tensors and sizes.
struct CallingScope {
  const CudaFunction* function = nullptr;
  std::map<std::string, std::string> names;
};

struct Guess {
  const CudaFunction* function = nullptr;  // of the scanned file
  std::string others;                      // "--function f, --function g" that would do as well
  std::vector<GuessedTensor> tensors;
  std::vector<GuessedSize> sizes;
  std::vector<GuessedArgument> arguments;
  std::string unread;  // tensors in which no index shows the order of the sizes: "x, y"
  std::string reduction_length = "1", flops;
  std::array<std::string, 3> grid, block;   // a kernel's
  std::string shared_bytes, unread_shared;  // the latter as the launch has it, if it is beyond us
  std::string launched_by;                  // whose launch they are from; empty: they are invented
  std::vector<CallingScope> scopes;
  std::string past_end, unreached;  // tensors, as ReachOf gives them
  std::string replaced;             // what the launch does not tell: "threads = 256 (...), "
  bool rounded = false;             // hidden sizes are multiples of a block
  bool whole = false;  // an index is bounded by the launch alone, or a size is divided: n / 16
};

// The function that candidates will be called as: a host function that launches kernels on device
// pointers where there is one, else a kernel. `wanted` picks one by name; empty: the best guess.
// kBadInput says why nothing here will do.
Result<Guess> GuessTask(const CudaFile& file, const std::string& wanted);

// A word of Python's, or of the reference's own.
bool IsReserved(const std::string& name);

// The element type that a pointer's C++ type names: "float4" is kF32.
std::optional<DType> TensorType(const std::string& type);

// --- How the file launches a kernel, in the kernel's own names: scaffold_launch.cc.

// What a name of the code stands for: another text, or nothing.
using Meaning = std::function<std::optional<std::string>(const std::string& name)>;
using IsSize = std::function<bool(std::string_view name)>;

// The last that the function assigned before `offset`, or a constant of the file.
Meaning MeaningAt(const CudaFile& file, const CudaFunction& function, size_t offset);
// The text as an Expression over the sizes; nothing, where it is more than whole arithmetic.
std::optional<std::string> AsExpression(const std::string& text, const Meaning& meaning,
                                        const IsSize& is_size);

// One of x, y, z (0 to 2) of "dim3(16, 16)", of a name that means one, or of a number.
std::optional<std::string> AsExtent(const std::string& text, size_t axis, const Meaning& meaning,
                                    const IsSize& is_size);
// As TOML's number of the C++ type; empty: it is no constant.
std::string ConstantOf(const std::string& text, const Meaning& meaning, const std::string& type);
// The last token of a cast: (int) x    int(x)    static_cast<int>(x). The size: there is none.
size_t CastAt(const TokenList& list, size_t i);
// 256   1'024   0x100u   2.0f   .5   1e-5f, which is three tokens: `i` goes behind them.
std::optional<double> RealAt(const TokenList& list, size_t& i);
// IDX(y, x) at a token, of "(i,j)((i)*N+(j))"; empty: it does not fit.
std::string ExpandedMacro(const std::string& macro, const TokenList& list, size_t at);
bool DividesUp(const std::string& function);
// Of an element of the C++ type: "float4" has 16.
std::optional<int64_t> BytesOf(const std::string& type);

// Nothing: it is no expression over these sizes.
std::optional<int64_t> ValueOf(const std::string& expression, const Sizes& sizes);
// The names in an expression, without its functions.
std::set<std::string> WordsIn(const std::string& expression);

struct LaunchArgument {
  std::string name;    // "cols", where it is a name of the launching code
  std::string value;   // "1024", "-0.5"; empty: it is no constant
  bool small = false;  // a whole number below 32, written in the launch itself
};
// What the kernel's first launch gives each parameter.
std::vector<LaunchArgument> LaunchArguments(const CudaFile& file, const CudaFunction& kernel);

// "&d_a[0]", "(float*)d_a + n": d_a
std::string PointerIn(const std::string& text);
// Follows the calls of the guess's function back to where its sizes and pointers come from: fills
// in its scopes, and values of sizes.
void FindScopes(const CudaFile& file, Guess& guess);
// What cudaMalloc gives the tensors. Both may add sizes to the guess that are no parameters.
void ReadAllocations(const CudaFile& file, Guess& guess);
// x, y, z of the grid, then of the block; empty where they are not known.
using LaunchExtents = std::array<std::string, 6>;
// Of a launch in the guess's own function.
LaunchExtents ExtentsOf(const CudaFile& file, Guess& guess, const CudaLaunch& launch);
// Grid, block and shared bytes of the first launch that is whole arithmetic over the guess's sizes.
// Where there is none, guess.launched_by stays empty.
void CopyLaunch(const CudaFile& file, Guess& guess);

// --- How kernels index their tensors: scaffold_shape.cc.

// Fills in the tensors' shapes, which roles complete, and what follows from them.
void ShapeTensors(const CudaFile& file, Guess& guess);
// The tensors that may be too small at these values of the sizes: "x (element 4097 of 4096)", as an
// index goes that far; "x, y", as it could not be read how far.
std::pair<std::string, std::string> ReachOf(const CudaFile& file, Guess& guess,
                                            int64_t GuessedSize::*value);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_SCAFFOLD_GUESS_H_
