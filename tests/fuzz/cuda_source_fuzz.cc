// A user's .cu file: scanned, made a task of, and searched for what it may not carry. A task that
// was made of it can be read.
#include "base/utf8.h"
#include "fuzz.h"
#include "judge/audit/embedded_binary.h"
#include "task/cuda_scan.h"
#include "task/scaffold.h"
#include "task/task_file.h"

using namespace warpsmith;

namespace {

void MustLoad(const task::Scaffold& scaffold) {
  for (const auto& [path, text] : scaffold.files) fuzz::WriteInFolder(path, text);
  const auto loaded = task::LoadTask((fuzz::Folder() / "task.toml").string());
  if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.error().Line().c_str());
  CHECK(loaded.ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(fuzz::TextOf(data, size));
  const task::CudaFile file = task::ScanCuda(source);
  for (const task::CudaFunction& function : file.functions) {
    CHECK(!function.name.empty() && function.offset < source.size());
  }
  for (const audit::Literal& literal : audit::ReadLiterals(source)) CHECK(literal.line >= 1);
  audit::AuditSources({{"k.cu", source}});
  if (!IsUtf8(source)) return 0;  // such a file is refused where it is read
  const auto scaffold = task::MakeScaffold({"fuzz", {{"k.cu", source}}, "k.cu", ""});
  if (fuzz::ValueOf(scaffold)) MustLoad(*scaffold);
  return 0;
}
