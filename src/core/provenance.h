// What a file of measurements begins with: where, when and by what it was made.
#ifndef WARPSMITH_CORE_PROVENANCE_H_
#define WARPSMITH_CORE_PROVENANCE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"

namespace warpsmith {

// "GPU-1a2b3c4d" of "GPU-1a2b3c4d-...": enough to tell one GPU from another. "none" where empty.
std::string ShortUuid(std::string_view uuid);

// A command line as one text; of absolute paths only the last component, since a machine's folders
// mean nothing to a reader. Line ends become blanks.
std::string CommandText(const std::vector<std::string>& arguments);

// The commit that this program was built from; "unknown" outside a checkout.
std::string CommitText();

// "NVIDIA H200, GPU-1a2b3c4d, driver 580.95, 2026-11-21T09:15:02Z, commit 0123abc, COMMAND"
std::string ProvenanceText(const DeviceInfo& device, std::string_view command);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_PROVENANCE_H_
