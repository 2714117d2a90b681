// Entries of our caches, damaged or another's: they are used or passed over. The first line says
// which cache.
#include "base/compression.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compile/worker_compiler.h"
#include "fuzz.h"
#include "judge/audit/audit.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [cache, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  const std::string key = Sha256Hex("key");
  fuzz::WriteInFolder(EntryPath("", key),
                      cache == "artifact" ? Compress(text, 1) : std::string(text));
  if (const auto outcome = compile::FindOutcome(fuzz::Folder(), key)) {
    CHECK(compile::StoreOutcome(fuzz::Folder(), key, *outcome).ok());
    CHECK(compile::FindOutcome(fuzz::Folder(), key).has_value());
  }
  audit::FindFinding(fuzz::Folder(), key);
  return 0;
}
