// Every function that we look up exists: those that the fake has no answer for are refused.
#include "cuda/driver_api.h"

extern "C" int warpsmith_fake_unsupported() { return CUDA_ERROR_NOT_SUPPORTED; }

#define WARPSMITH_FAKE_STUB(name)                                 \
  asm(".weak " WARPSMITH_SYMBOL(name) "\n.set " WARPSMITH_SYMBOL( \
      name) ", warpsmith_fake_unsupported\n");
WARPSMITH_DRIVER_FUNCTIONS(WARPSMITH_FAKE_STUB)
