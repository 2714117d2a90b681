// A reference that a peer computes: PyTorch, or a reference program's process.
#ifndef WARPSMITH_JUDGE_PEER_REFERENCE_H_
#define WARPSMITH_JUDGE_PEER_REFERENCE_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "core/task.h"
#include "judge/called_process.h"
#include "judge/reference_provider.h"
#include "judge/reference_stage.h"

namespace warpsmith::judge {

class PeerReference : public ReferenceProvider {
 public:
  // Gives the stage to a peer that has been told to start. Errors name the reference's own trouble.
  static Result<std::unique_ptr<ReferenceProvider>> Start(std::unique_ptr<CalledProcess> peer,
                                                          const Task& task,
                                                          const Workload& workload,
                                                          const ReferenceStage& stage);
  Status Expect() override;
  Status Draw(uint64_t seed) override;
  std::string About() const override { return about_; }

 private:
  explicit PeerReference(std::unique_ptr<CalledProcess> peer) : peer_(std::move(peer)) {}
  Status Ask(const Command& command, const char* doing);
  std::unique_ptr<CalledProcess> peer_;
  std::string about_;  // of the newest answer
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PEER_REFERENCE_H_
