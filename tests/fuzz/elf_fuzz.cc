// Cubins, the PTX beside them, and the shared libraries that programs are compiled to.
#include "base/elf.h"
#include "compile/cubin.h"
#include "fuzz.h"
#include "judge/audit/image_rules.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view image = fuzz::TextOf(data, size);
  fuzz::ValueOf(ReadElfSections(image));
  fuzz::ValueOf(ReadElfSymbols(image));
  fuzz::ValueOf(ReadElfImports(image));
  fuzz::ValueOf(compile::WritableGlobalBytes(image, ""));
  fuzz::ValueOf(compile::WritableGlobalBytes(image, ".global .align 4 .u32 counter;"));
  compile::OnlyReads(compile::CodeOf(image), {"counter"});
  LaunchOperation launch;
  launch.kernel = "k";
  launch.programmatic = true;
  LaunchPlan plan;
  plan.operations = {launch};
  audit::RefuseImage(plan, image);
  audit::PlanMismatch(plan, image);
  audit::AuditImports(image, {});
  audit::AuditImports(image, {"cublas", "dlopen"});
  return 0;
}
