// A candidate of form `program`: host and device code of its own, in a shared library.
#ifndef REPRODUCE_PROGRAM_H_
#define REPRODUCE_PROGRAM_H_

#include <dlfcn.h>

#include <string>
#include <vector>

#include "measure.h"

class Program : public Contender {
 public:
  // `library` defines warpsmith_call, which calls the program as the task says (see
  // warpsmith_shim.cpp among its sources).
  Program(const char* name, const char* library) : Contender(name), library_(library) {}

  void Prepare(const std::vector<Buffers>&, CUstream) override {
    void* library = dlopen(library_, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) Stop(dlerror());
    entry_ = reinterpret_cast<void (*)(void* const*)>(dlsym(library, "warpsmith_call"));
    if (entry_ == nullptr) Stop(dlerror());
  }

  void Call(const Buffers& at, CUstream) override {
    std::vector<void*> tensors;
    for (const CUdeviceptr address : at.tensor) tensors.push_back(reinterpret_cast<void*>(address));
    entry_(tensors.data());
  }

 private:
  const char* library_;
  void (*entry_)(void* const*) = nullptr;
};

#endif  // REPRODUCE_PROGRAM_H_
