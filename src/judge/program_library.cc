#include "judge/program_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/spawn.h"

namespace warpsmith::judge {
namespace {

Error Failed(const std::string& what, const std::string& why) {
  return Error{ErrorCode::kBadInput, fmt::format("loading the program: {}: {}", what, why), ""};
}

Status WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failed("writing its library to memory", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
}

}  // namespace

Result<ProgramCall> LoadProgram(std::string_view image, const std::string& entry) {
  const FileDescriptor file(memfd_create("program.so", MFD_CLOEXEC));
  if (file.number() < 0) return Failed("memfd_create", std::strerror(errno));
  TRY(WriteAll(file.number(), image));
  const std::string path = fmt::format("/proc/self/fd/{}", file.number());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Failed("dlopen", dlerror());  // NOLINT(concurrency-mt-unsafe)
  void* symbol = dlsym(library, entry.c_str());
  if (symbol == nullptr) return Failed("no symbol", entry);
  return reinterpret_cast<ProgramCall>(symbol);
}

}  // namespace warpsmith::judge
