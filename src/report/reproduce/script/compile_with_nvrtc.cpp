// Compiles one CUDA source with NVRTC, as warpsmith does for the toolchain "nvrtc":
//   compile_with_nvrtc FOLDER ENTRY OUTPUT HEADERS FLAG...
// ENTRY is a file of FOLDER, whose other files are headers under their names there; HEADERS is the
// toolkit's folder of headers.
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Check(nvrtcResult result, const char* call) {
  if (result == NVRTC_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", call, nvrtcGetErrorString(result));
  std::exit(1);
}
#define NVRTC(call) Check(call, #call)

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s FOLDER ENTRY OUTPUT HEADERS FLAG...\n", argv[0]);
    return 2;
  }
  const fs::path folder = argv[1];
  const std::string entry = argv[2], headers_option = std::string("--include-path=") + argv[4];
  std::vector<std::string> names, texts;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    const std::string name = file.path().lexically_relative(folder).string();
    if (!file.is_regular_file() || name == entry) continue;
    names.push_back(name);
    texts.push_back(TextOf(file.path()));
  }
  std::vector<const char*> name_pointers, text_pointers;
  for (size_t i = 0; i < names.size(); ++i) {
    name_pointers.push_back(names[i].c_str());
    text_pointers.push_back(texts[i].c_str());
  }
  std::vector<const char*> options(argv + 5, argv + argc);
  options.push_back(headers_option.c_str());

  nvrtcProgram program = nullptr;
  NVRTC(nvrtcCreateProgram(&program, TextOf(folder / entry).c_str(), entry.c_str(),
                           static_cast<int>(names.size()), text_pointers.data(),
                           name_pointers.data()));
  const nvrtcResult compiled =
      nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  size_t bytes = 0;
  NVRTC(nvrtcGetProgramLogSize(program, &bytes));
  std::string log(bytes, '\0');
  NVRTC(nvrtcGetProgramLog(program, log.data()));
  if (bytes > 1) std::fprintf(stderr, "%s\n", log.c_str());
  Check(compiled, "nvrtcCompileProgram");
  NVRTC(nvrtcGetCUBINSize(program, &bytes));
  std::string image(bytes, '\0');
  NVRTC(nvrtcGetCUBIN(program, image.data()));
  std::ofstream output(argv[3], std::ios::binary);
  output << image;
  return output.flush() ? 0 : 1;
}
