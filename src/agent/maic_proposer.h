// MAIC-RL as a proposer of the loop (docs/agent.md): a language model writes kernels, aimed by
// profiles and by a knowledge base that it leaves better than it was.
//
// A round is one call of Propose: kernels that passed are profiled and their states named, rollouts
// choose techniques, all questions of the round are asked at once, and what the replies hold is
// proposed. Compiling and checking are the loop's: a failed step is observed, and its repair is a
// proposal of the next round.
#ifndef WARPSMITH_AGENT_MAIC_PROPOSER_H_
#define WARPSMITH_AGENT_MAIC_PROPOSER_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/diagnosis.h"
#include "agent/forest.h"
#include "agent/learner.h"
#include "agent/model_client.h"
#include "agent/prompt_writer.h"
#include "agent/settings.h"
#include "core/device.h"
#include "core/proposer.h"

namespace warpsmith::agent {

struct RunSetup {
  std::string run;  // its id, for evidence
  Task task;
  Workload workload;  // what it is judged on
  DeviceInfo device;
  Mode mode = Mode::kDeviceHot;
  RunConfig run_config;
  Budget budget;                                 // its tokens and money; the loop sees to the rest
  std::optional<TokenBudgetEnd> known_end = {};  // of a replay, instead of that budget
  profile::ProblemFacts facts;
};

// Of the documents in one prompt.
inline constexpr size_t kMostDocumentBytes = 6'000;

// Whoever is asked. Every answer is kept in `memos` and taken from there when it is known; so the
// proposer is a function of its assignment, its memos and the steps it observed.
struct Services {
  Models models;
  PriceOf price;
  TakeProfile take_profile;
  std::function<Result<knowledge::Contents>()> knowledge;  // the base when the run begins
  knowledge::KnowledgeBase* users_base = nullptr;          // learns what the run learns
  std::function<Result<std::string>(const std::string& words)> documents;
  store::RunMemos* memos = nullptr;
};

class MaicProposer final : public Proposer {
 public:
  MaicProposer(RunSetup setup, Services services);

  std::string_view Name() const override { return "agent"; }
  // kAwaiting: an exchange lacks answers; kConfig: the run was begun otherwise. After an error only
  // a proposer that is made anew goes on.
  Result<std::vector<Proposal>> Propose(int n) override;
  void Observe(const Step& step) override;

  // At the end of a run: asks what is still open about its last steps and its best kernels.
  Status Conclude();

  // "tokens" or "money" once a prompt did not fit any more.
  const std::optional<std::string>& limit() const { return token_budget_.limit(); }
  std::optional<TokenBudgetEnd> token_budget_end() const { return token_budget_.end(); }
  const Cost& spent() const { return token_budget_.spent(); }
  std::string StatePath() const { return forest_.StatePath(); }
  // What verification said of a candidate (by id): reasons to doubt it.
  std::vector<std::string> DoubtsAbout(const std::string& candidate_id) const;
  // Candidates (by id) that verification vetoed, each with a reason.
  std::map<std::string, std::string> Vetoed() const;

 private:
  struct AttemptSlot {  // of an attempt
    int rollout = 0;
    size_t attempt = 0;
  };

  Status Begin();
  Status DiagnoseKernels();
  Status AskForStates();
  Result<std::vector<AttemptSlot>> Plan(int n);
  Status Prepare(Attempt& attempt);
  Result<ChatRequest> FirstRequestOf(const Attempt& attempt);
  Result<ChatRequest> ContrastiveRequestOf(const Attempt& attempt, const Node& node);
  Result<PromptWriter::Background> BackgroundOf(const Attempt& attempt);
  Result<std::string> Passages(const std::string& words);
  Result<std::vector<Proposal>> AskAndPropose(const std::vector<AttemptSlot>& places);
  Proposal ProposalFrom(const Answer& answer, const ChatRequest& request, Attempt& attempt) const;
  Status AskReviews(std::vector<ChatRequest>& requests, std::vector<Learner::Question>& questions);
  Status DigestReviews(const std::vector<Learner::Question>& questions,
                       std::span<const Answer> answers);

  Attempt& AttemptAt(const AttemptSlot& place);
  Status Learn(const Step& step);
  void CloseEnded();

  const RunSetup setup_;
  const Services services_;
  const Settings& settings_;
  TokenBudget token_budget_;
  ModelClient model_client_;
  PromptWriter writer_;
  Lessons lessons_;
  profile::ProblemFacts facts_;  // as they were when the run began
  Forest forest_;
  Learner learner_;
  int64_t round_ = 0;
  Cost carried_;                     // of questions that led to no proposal yet
  std::deque<AttemptSlot> judging_;  // proposed and not observed, in order
  std::vector<AttemptSlot> closed_;  // attempts of this round that have ended
  std::optional<Error> failure_;     // of an Observe; told by the next Propose
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_MAIC_PROPOSER_H_
