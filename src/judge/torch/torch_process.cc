#include "judge/torch/torch_process.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_reader.h"
#include "base/subprocess.h"
#include "embedded/torch_peer.h"

namespace warpsmith::torch {
namespace {

using nlohmann::json;

constexpr std::string_view kInstallHint =
    "set WARPSMITH_PYTHON to a Python from 3.10 that has torch";
constexpr size_t kMaxArgumentBytes = 128 << 10;  // Linux: MAX_ARG_STRLEN

std::string_view Embedded(std::string_view path) {
  for (const EmbeddedFile& file : embedded::TorchPeer()) {
    if (file.path == path) return file.contents;
  }
  CHECK(false);
  return {};
}

}  // namespace

Result<std::string> FindPython() {
  const char* named = std::getenv("WARPSMITH_PYTHON");
  const bool is_named = named != nullptr && *named != '\0';
  const std::string wanted = is_named ? named : "python3";
  if (std::optional<std::string> found = FindProgram(wanted)) return *std::move(found);
  return Error{
      ErrorCode::kUnavailable,
      is_named ? "WARPSMITH_PYTHON is " + wanted + ", which cannot be run" : "no python3 in PATH",
      std::string(kInstallHint)};
}

std::string PeerProgram(std::string_view last_lines) {
  json files = json::object();
  for (const EmbeddedFile& file : embedded::TorchPeer()) {
    if (file.path.find('/') != file.path.npos) files[std::string(file.path)] = file.contents;
  }
  // A JSON text of strings only is a Python literal as well.
  std::string program = "FILES = " + JsonText(files) + "\n";
  program += Embedded("bootstrap.py");
  program += last_lines;
  CHECK(program.size() < kMaxArgumentBytes);
  return program;
}

Result<std::vector<std::string>> TorchPeerArgv(PeerMemory memory) {
  const std::string python = TRY(FindPython());
  std::vector<std::string> argv{
      python, "-c",
      PeerProgram("from warpsmith_peer.peer import main\nsys.exit(main(sys.argv[1:]))\n")};
  if (memory == PeerMemory::kHost) argv.emplace_back("--host-memory");
  return argv;
}

}  // namespace warpsmith::torch
