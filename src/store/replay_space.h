// The spaces of one or more recordings, joined by name.
#ifndef WARPSMITH_STORE_REPLAY_SPACE_H_
#define WARPSMITH_STORE_REPLAY_SPACE_H_

#include <memory>
#include <vector>

#include "store/recorded_device.h"
#include "store/recording.h"

namespace warpsmith::store {

// In order of first appearance. The makers share the recordings. kConfig when two recordings give
// one name to different tasks or sizes.
Result<std::vector<ReplaySpace>> ReplaySpaces(
    const std::vector<std::shared_ptr<const Recording>>& recordings);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_REPLAY_SPACE_H_
