// What the program does as a compile worker and as nvcc's launcher, alone, for tests.
#include <cstdlib>
#include <string_view>

#include "compile/worker_compiler.h"

int main(int argc, char** argv) {
  if (argc > 2 && argv[1] == std::string_view(warpsmith::compile::kNvccSubcommand)) {
    return warpsmith::compile::NvccMain({argv + 2, argv + argc});
  }
  if (argc != 3) return 2;
  return warpsmith::compile::CompileWorkerMain(std::atoi(argv[2]));
}
