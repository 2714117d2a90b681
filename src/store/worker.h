// Names of the processes that lease jobs: "<host>:<process id>:<start time>", so that whoever finds
// a lease on the same host can tell whether its holder still lives.
#ifndef WARPSMITH_STORE_WORKER_H_
#define WARPSMITH_STORE_WORKER_H_

#include <string>
#include <string_view>

namespace warpsmith::store {

std::string ThisWorker();

// True only when the name is of this host and that process is gone. Workers elsewhere, and names of
// another form, are given up only when their lease runs out.
bool KnownDead(std::string_view worker);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_WORKER_H_
