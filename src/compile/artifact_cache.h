// Compile outcomes by content: <root>/<2 hex>/<62 hex>, zstd, written aside and renamed.
#ifndef WARPSMITH_COMPILE_ARTIFACT_CACHE_H_
#define WARPSMITH_COMPILE_ARTIFACT_CACHE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"

namespace warpsmith::compile {

// SHA-256 over everything that decides the outcome: sources, entry, form, flags, the toolchain's
// identity, architecture, and the version of what we read out of an image.
std::string CacheKey(const Candidate& candidate, const std::vector<std::string>& flags,
                     const std::string& toolchain_identity, const std::string& architecture);

// Of the cache in the folder `root`. Thread-safe, and safe between processes: an entry is whole or
// absent. Nothing for a missing, damaged or foreign entry: the caller compiles and stores again.
std::optional<CompileOutcome> FindOutcome(const std::filesystem::path& root,
                                          const std::string& key);
Status StoreOutcome(const std::filesystem::path& root, const std::string& key,
                    const CompileOutcome& outcome);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_ARTIFACT_CACHE_H_
