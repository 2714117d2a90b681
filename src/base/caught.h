// Exceptions end here: our own code throws none, but memory runs out and libraries throw. One that
// left a thread's function would end the process, and with it what other threads had not stored.
#ifndef WARPSMITH_BASE_CAUGHT_H_
#define WARPSMITH_BASE_CAUGHT_H_

#include <exception>
#include <new>
#include <string>

#include "base/result.h"

namespace warpsmith {

// What `work` returns, a Status or a Result; for an exception its Error: kUnavailable when memory
// ran out, else kInternal.
template <typename Work>
auto Caught(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kUnavailable, "out of memory",
                 "free some memory, or do less at once; what was stored is kept"};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kInternal, std::string("unexpected: ") + exception.what(),
                 "please report it with the command line"};
  }
}

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_CAUGHT_H_
