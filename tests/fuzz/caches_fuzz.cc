// Entries of our caches, damaged or another's: they are used or passed over. The first line says
// which cache.
#include "base/compression.h"
#include "base/sha256.h"
#include "compile/artifact_cache.h"
#include "fuzz.h"
#include "judge/audit/audit.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [cache, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  const std::string key = Sha256Hex("key");
  const std::string entry = key.substr(0, 2) + "/" + key.substr(2);
  fuzz::WriteInFolder(entry, cache == "artifact" ? Compress(text, 1) : std::string(text));
  const compile::ArtifactCache artifacts(fuzz::Folder());
  if (const auto outcome = artifacts.Find(key)) {
    CHECK(artifacts.Store(key, *outcome).ok() && artifacts.Find(key).has_value());
  }
  audit::FindingCache(fuzz::Folder()).Find(key);
  return 0;
}
