// The compile worker alone, for tests: compile_test_worker internal-compile-worker <socket>.
#include <cstdlib>

#include "compile/worker_compiler.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return warpsmith::compile::CompileWorkerMain(std::atoi(argv[2]));
}
