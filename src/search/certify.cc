#include "search/certify.h"

#include <utility>

#include "base/sha256.h"
#include "core/step_reference.h"

namespace warpsmith::search {
namespace {

// Proposes a given list, in one generation.
class Finalists : public Proposer {
 public:
  explicit Finalists(const std::vector<Step>& steps) {
    for (const Step& step : steps) proposals_.push_back({step.candidate, {}, {}});
  }
  std::string_view Name() const override { return "finalists"; }
  Result<std::vector<Proposal>> Propose(int /*n*/) override {
    return std::exchange(proposals_, {});
  }
  void Observe(const Step& /*step*/) override {}

 private:
  std::vector<Proposal> proposals_;
};

// Other finalists are another run: a search that went on may end in better ones.
std::string RunIdOf(const LoopRequest& search, const std::vector<Step>& finalists,
                    const Protocol& protocol) {
  constexpr size_t kShort = 12;
  std::string ids = ProtocolId(protocol) + "\n";
  for (const Step& step : finalists) ids += CandidateId(step.candidate) + "\n";
  return search.run.id + std::string(kCertification) + Sha256Hex(ids).substr(0, kShort);
}

LoopRequest RequestOf(const LoopRequest& search, const std::vector<Step>& finalists,
                      const std::optional<Protocol>& protocol) {
  LoopRequest request = search;
  request.run.proposer = ProposerText("finalists", search.reward);
  request.run.batch = static_cast<int>(finalists.size());
  request.run.protocol = protocol.value_or(Protocol::Certified());
  if (!protocol.has_value()) request.run.protocol.modes = search.run.protocol.modes;
  request.run.id = RunIdOf(search, finalists, request.run.protocol);
  request.budget = {};
  request.keep_best = 1;
  return request;
}

std::optional<size_t> WinnerOf(const std::vector<Step>& steps, Mode mode,
                               const RewardShape& reward) {
  std::optional<size_t> winner;
  double best = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto ratio = RatioToPrimary(steps[i].verdict, mode);
    if (!ratio || *ratio <= 0) continue;
    const double worth = reward == kSearchReward ? *ratio : steps[i].reward;
    if (winner && worth <= best) continue;
    best = worth;
    winner = i;
  }
  return winner;
}

}  // namespace

Result<Certification> Certify(const LoopRequest& search, const std::vector<Step>& finalists,
                              Compiler* compiler, Device& device, Store& store,
                              const LoopCallbacks& callbacks,
                              const std::optional<Protocol>& protocol) {
  if (finalists.empty()) return Certification{};
  const LoopRequest request = RequestOf(search, finalists, protocol);
  Finalists proposer(finalists);
  Certification result;
  result.run = request.run.id;
  result.loop = TRY(RunLoop(request, proposer, compiler, device, store, callbacks));
  result.steps = TRY(store.Steps(request.run.id));
  result.winner = WinnerOf(result.steps, request.run.protocol.modes.front(), request.reward);
  return result;
}

}  // namespace warpsmith::search
