#include "compile/nvcc.h"

#include <utility>

#include "compile/cubin.h"
#include "util/file.h"
#include "util/subprocess.h"

namespace warpsmith::compile {
namespace {

namespace fs = std::filesystem;

// Sources come from outside: none may be written beside the folder.
bool StaysInside(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  for (const fs::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

Status WriteSources(const fs::path& folder, const Compilation& compilation) {
  for (const auto& [path, text] : compilation.sources) {
    TRY(CreateDirectories((folder / path).parent_path()));
    TRY(WriteFileAtomic(folder / path, text));
  }
  return {};
}

std::string WithoutFolder(std::string log, const fs::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at)) {
    log.erase(at, prefix.size());
  }
  return log;
}

std::vector<std::string> CommandLine(const fs::path& nvcc, const Compilation& compilation,
                                     Form form, const fs::path& folder, const fs::path& image) {
  std::vector<std::string> argv = {nvcc.string()};
  if (form == Form::kKernel) {
    argv.insert(argv.end(), {"-cubin"});
  } else {
    argv.insert(argv.end(), {"-shared", "-Xcompiler", "-fPIC"});
  }
  argv.insert(argv.end(), compilation.flags.begin(), compilation.flags.end());
  argv.insert(argv.end(),
              {"-I", folder.string(), "-o", image.string(), (folder / compilation.entry).string()});
  return argv;
}

Compiled Failed(std::string failure, std::string log) {
  Compiled compiled;
  compiled.failure = std::move(failure);
  compiled.log = std::move(log);
  return compiled;
}

Result<Compiled> FromOutcome(const ProcessOutcome& outcome, Form form, const fs::path& folder,
                             const fs::path& image, const Limits& limits) {
  const std::string log = TidyLog(WithoutFolder(outcome.output, folder), limits.output_bytes);
  if (outcome.timed_out) {
    Compiled compiled =
        Failed("no result within " + std::to_string(limits.wall.count()) + " ms", log);
    compiled.timed_out = true;
    compiled.repeatable = false;
    return compiled;
  }
  if (outcome.signal != 0) {
    Compiled compiled = Failed("nvcc died of signal " + std::to_string(outcome.signal), log);
    compiled.repeatable = false;
    return compiled;
  }
  if (outcome.exit_status != 0) {
    return Failed("nvcc ended with status " + std::to_string(outcome.exit_status), log);
  }
  Compiled compiled;
  compiled.log = log;
  compiled.image = TRY(ReadFile(image));
  // nvcc drops variables that no kernel mentions, so every one that is left counts.
  if (form == Form::kKernel) {
    compiled.writable_global_bytes = TRY(WritableGlobalBytes(compiled.image, ""));
  }
  return compiled;
}

}  // namespace

Result<Compiled> CompileWithNvcc(const fs::path& nvcc, const Compilation& compilation, Form form,
                                 const Limits& limits) {
  for (const auto& [path, text] : compilation.sources) {
    if (!StaysInside(path)) return Failed("source path '" + path + "' leaves the folder", "");
  }
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-nvcc"));
  const fs::path sources = folder.path() / "src", scratch = folder.path() / "tmp";
  const fs::path image = folder.path() / "image";
  TRY(CreateDirectories(sources));
  TRY(CreateDirectories(scratch));
  TRY(WriteSources(sources, compilation));
  ProcessLimits process;
  process.wall = limits.wall;
  process.address_space_bytes = limits.memory_bytes;
  process.output_bytes = limits.output_bytes;
  process.file_bytes = limits.image_bytes;
  const auto outcome = TRY(RunProcess(CommandLine(nvcc, compilation, form, sources, image), process,
                                      {"TMPDIR=" + scratch.string()}));
  return FromOutcome(outcome, form, sources, image, limits);
}

}  // namespace warpsmith::compile
