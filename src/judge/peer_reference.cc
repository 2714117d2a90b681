#include "judge/peer_reference.h"

#include <unistd.h>

#include <vector>

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kReferenceStartLimit{180}, kMapLimit{120}, kComputeLimit{600};

}  // namespace

Result<std::unique_ptr<ReferenceProvider>> PeerReference::Start(std::unique_ptr<PeerProcess> peer,
                                                                const Task& task,
                                                                const Workload& workload,
                                                                const ReferenceStage& stage) {
  TRY(peer->AwaitReady(kReferenceStartLimit));
  const Task reference = ReferenceTask(task);
  PeerArena arena{reference,
                  workload,
                  {},
                  TRY(PeerRegionsOf(reference, workload, stage.regions(), stage.mapped_bytes()))};
  const std::vector<int> by_role = TRY(stage.Export());
  std::vector<int> descriptors;
  for (const size_t role : RolesInTaskOrder(task)) descriptors.push_back(by_role.at(role));
  const PeerCallResult mapped = peer->Call(arena, kMapLimit, {}, descriptors);
  for (int descriptor : by_role) close(descriptor);
  if (!std::holds_alternative<PeerReply>(mapped)) {
    return ErrorOfPeer(mapped, "giving the reference its memory");
  }
  return std::unique_ptr<ReferenceProvider>(new PeerReference(std::move(peer)));
}

Status PeerReference::Ask(const PeerCommand& command, const char* doing) {
  const PeerCallResult answer = peer_->Call(command, kComputeLimit);
  const auto* reply = std::get_if<PeerReply>(&answer);
  if (reply == nullptr) return ErrorOfPeer(answer, doing);
  if (!reply->text.empty()) about_ = reply->text;
  return {};
}

Status PeerReference::Expect() { return Ask(PeerExpect{}, "computing the expected outputs"); }

Status PeerReference::Draw(uint64_t seed) {
  return Ask(PeerDraw{seed >> 1}, "drawing the reference's inputs");
}

}  // namespace warpsmith::judge
