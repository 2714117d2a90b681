#include "judge/peer_reference.h"

#include "judge/arena_mapping.h"
#include "judge/problem.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kReferenceStartLimit{180}, kMapLimit{120}, kComputeLimit{600};

}  // namespace

Result<std::unique_ptr<ReferenceProvider>> PeerReference::Start(std::unique_ptr<CalledProcess> peer,
                                                                const Task& task,
                                                                const Workload& workload,
                                                                const ReferenceStage& stage) {
  TRY(peer->AwaitReady(kReferenceStartLimit));
  const CallResult mapped = TRY(MapStageIn(*peer, stage, ReferenceTask(task), workload, kMapLimit));
  if (!std::holds_alternative<Reply>(mapped)) {
    return ErrorOfCall(mapped, "giving the reference its memory");
  }
  return std::unique_ptr<ReferenceProvider>(new PeerReference(std::move(peer)));
}

Status PeerReference::Ask(const Command& command, const char* doing) {
  const CallResult answer = peer_->Call(command, kComputeLimit);
  const auto* reply = std::get_if<Reply>(&answer);
  if (reply == nullptr) return ErrorOfCall(answer, doing);
  if (!reply->text.empty()) about_ = reply->text;
  return {};
}

Status PeerReference::Expect() { return Ask(ExpectCommand{}, "computing the expected outputs"); }

Status PeerReference::Draw(uint64_t seed) {
  return Ask(DrawCommand{static_cast<int64_t>(seed >> 1)}, "drawing the reference's inputs");
}

}  // namespace warpsmith::judge
