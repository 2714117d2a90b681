// Compile workers, started when they are first needed and replaced when they die. Private to this
// folder.
#ifndef WARPSMITH_COMPILE_WORKER_POOL_H_
#define WARPSMITH_COMPILE_WORKER_POOL_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "compile/compilation.h"

namespace warpsmith::compile {

// Thread-safe. At most `workers` compilations at once, by whichever compiler; others wait.
class WorkerPool {
 public:
  WorkerPool(int workers, std::vector<std::string> command, Limits limits);

  // NVRTC in a worker process, which is killed at a limit.
  Result<Compiled> CompileWithNvrtc(const Compilation& compilation);
  // `compile` in this thread, holding a worker's place: for nvcc, which is a process already.
  Result<Compiled> CompileInPlace(const std::function<Result<Compiled>()>& compile);

 private:
  // One place of the pool, taken for as long as this lives.
  class Place {
   public:
    explicit Place(WorkerPool* pool);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::optional<ChildProcess> worker;  // an idle one, or none yet

   private:
    WorkerPool* pool_;
  };

  Status StartWorker(Place* place) const;
  Result<Compiled> Await(Place* place) const;

  const std::vector<std::string> command_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable place_is_free_;
  int free_places_;
  std::vector<ChildProcess> idle_;
};

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_WORKER_POOL_H_
