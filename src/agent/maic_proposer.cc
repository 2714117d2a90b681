#include "agent/maic_proposer.h"

#include <algorithm>

#include "agent/knowledge/render.h"
#include "agent/prompt_writer.h"
#include "agent/prompts/model_answer.h"
#include "base/sha256.h"

namespace warpsmith::agent {
namespace {

constexpr size_t kLoweringKnowledgeBytes = 5'000;
constexpr size_t kExemplars = 3;
constexpr size_t kDoubtedAtTheEnd = 3;

// Prompts show a task's workloads; a built-in task has its sizes beside it.
RunSetup WithSizes(RunSetup setup) {
  if (setup.task.workloads.empty()) setup.task.workloads = {setup.workload};
  return setup;
}

SelectionContext ProblemOf(const RunSetup& setup) {
  SelectionContext problem;
  problem.context.architecture = setup.device.architecture;
  if (!setup.task.tensors.empty()) {
    problem.context.dtype = warpsmith::Name(setup.task.tensors.front().dtype);
  }
  problem.context.toolchain = setup.run_config.settings.form == Form::kKernel ? "nvrtc" : "nvcc";
  problem.task = TaskId(setup.task);
  return problem;
}

Error BegunOtherwise(const std::string& run) {
  return {ErrorCode::kConfig,
          "run \"" + run +
              "\" was begun with other settings of the agent, another starting kernel "
              "or other prompts",
          "resume it with what it was begun with, or begin another run"};
}

}  // namespace

MaicProposer::MaicProposer(RunSetup setup, Services services)
    : setup_(WithSizes(std::move(setup))),
      services_(std::move(services)),
      settings_(setup_.run_config.settings),
      token_budget_(setup_.budget, services_.price, setup_.known_end),
      model_client_(services_.models, &token_budget_, services_.memos),
      writer_(settings_, setup_.task, setup_.device),
      lessons_(settings_.memory, setup_.run, services_.knowledge, services_.users_base,
               services_.memos),
      facts_(setup_.facts),
      forest_(settings_, ProblemOf(setup_), setup_.run_config.seed, setup_.run_config.start,
              !setup_.run_config.parts.empty()),
      learner_(settings_, setup_.mode, writer_, forest_, lessons_, services_.memos) {}

Result<std::vector<Proposal>> MaicProposer::Propose(int n) {
  if (failure_.has_value()) return *failure_;
  if (!judging_.empty()) return std::vector<Proposal>();
  TRY(services_.memos->KeepAll(learner_.TakeMemos()));
  if (limit().has_value()) return std::vector<Proposal>();
  TRY(Begin());
  forest_.Advance();
  TRY(DiagnoseKernels());
  TRY(AskForStates());
  const std::vector<AttemptSlot> places = TRY(Plan(n));
  return AskAndPropose(places);
}

Status MaicProposer::Begin() {
  TRY(lessons_.Begin());
  if (round_++ > 0) return {};
  facts_ = TRY(RememberedFacts(facts_, *services_.memos));
  const std::string now = TextOf(setup_.run_config);
  const auto begun = TRY(services_.memos->Find(kBeginKey));
  if (!begun.has_value()) return services_.memos->Keep(kBeginKey, now);
  if (*begun != now) return BegunOtherwise(setup_.run);
  return {};
}

// Nothing is on the device now: see TakeProfile. A review compares before and after; else only
// where a rollout stands need be known.
Status MaicProposer::DiagnoseKernels() {
  const bool all = settings_.asks_reviews || settings_.style == Style::kContrastive;
  for (size_t i = 0; i < forest_.nodes().size(); ++i) {
    const auto& rollouts = forest_.rollouts();
    const bool stands = std::any_of(rollouts.begin(), rollouts.end(), [&](const Rollout& rollout) {
      return rollout.node == static_cast<int>(i);
    });
    Node& node = forest_.nodes()[i];
    if (node.looked_at || !(all || stands)) continue;
    const Profile profile = TRY(RememberedProfile(node, services_.take_profile, *services_.memos));
    TRY(Diagnose(node, profile, settings_.profiles, facts_, lessons_.base()));
  }
  return {};
}

// Of the kernels that rollouts will stand on next. A round of its own: what they try depends on it.
Status MaicProposer::AskForStates() {
  if (!settings_.asks_states || settings_.style != Style::kMaic) return {};
  std::vector<int> unsure;
  std::vector<ChatRequest> requests;
  for (const Rollout& rollout : forest_.rollouts()) {
    if (rollout.node < 0 || !rollout.open.empty()) continue;
    Node& node = forest_.node(rollout.node);
    if (node.states_asked || !IsUnsure(node)) continue;
    const ChatRequest request = writer_.States(node);
    if (!token_budget_.Reserve(request)) return {};
    node.states_asked = true;
    unsure.push_back(rollout.node);
    requests.push_back(request);
  }
  const std::vector<Answer> answers = TRY(model_client_.AskAll(requests));
  for (size_t i = 0; i < answers.size(); ++i) {
    carried_ = carried_ + CostOf(answers[i]);
    Node& node = forest_.node(unsure[i]);
    if (!answers[i].problem.empty()) continue;
    const auto named =
        prompts::ReadStates(answers[i].reply.samples.front().text, node.report.kernels.size());
    if (named.ok()) TRY(TakeStates(node, *named, lessons_.base()));
  }
  return {};
}

Result<std::vector<MaicProposer::AttemptSlot>> MaicProposer::Plan(int n) {
  TRY(forest_.MakeAttempts(lessons_.base(), round_));
  std::vector<AttemptSlot> places;
  for (size_t i = 0; i < forest_.rollouts().size(); ++i) {
    std::vector<Attempt>& open = forest_.rollouts()[i].open;
    for (size_t at = 0; at < open.size() && static_cast<int>(places.size()) < n; ++at) {
      TRY(Prepare(open[at]));
      places.push_back({static_cast<int>(i), at});
    }
  }
  return places;
}

// The question, unless the same is asked again or nobody is asked.
Status MaicProposer::Prepare(Attempt& attempt) {
  if (attempt.request.has_value()) return {};
  if (attempt.failed.has_value()) {
    attempt.request = writer_.Repair(attempt);
  } else if (attempt.kind != AttemptKind::kGiven) {
    attempt.request = TRY(FirstRequestOf(attempt));
  }
  return {};
}

Result<ChatRequest> MaicProposer::FirstRequestOf(const Attempt& attempt) {
  if (attempt.kind == AttemptKind::kBootstrap) return writer_.Bootstrap(attempt);
  if (attempt.kind == AttemptKind::kJoin) return writer_.Join(attempt, setup_.run_config.parts);
  const Node& node = forest_.node(attempt.node);
  if (attempt.kind == AttemptKind::kImprove) return writer_.Improve(attempt, node);
  if (attempt.kind == AttemptKind::kContrastive) return ContrastiveRequestOf(attempt, node);
  const PromptWriter::Background known = TRY(BackgroundOf(attempt));
  if (attempt.kind == AttemptKind::kOwnIdea) return writer_.OwnIdea(node, known);
  return writer_.Lowering(attempt, node, known);
}

Result<ChatRequest> MaicProposer::ContrastiveRequestOf(const Attempt& attempt, const Node& node) {
  std::vector<const Node*> variants;
  for (const int one : forest_.Exemplars(round_, attempt.rollout, kExemplars)) {
    variants.push_back(&forest_.node(one));
  }
  if (variants.empty()) variants.push_back(&node);
  return writer_.Contrastive(attempt, variants,
                             TRY(Passages(setup_.task.name + " " + StatePath())));
}

Result<PromptWriter::Background> MaicProposer::BackgroundOf(const Attempt& attempt) {
  const Node& node = forest_.node(attempt.node);
  PromptWriter::Background known;
  for (const knowledge::Technique& one : TRY(lessons_.base().Techniques())) {
    if (one.name == attempt.option.technique) known.technique = one.description;
  }
  KernelState kernel;
  kernel.state = attempt.option.state;
  if (settings_.memory == MemoryUse::kKept) {
    const knowledge::Page page =
        TRY(knowledge::PageFor(lessons_.base(), SituationOf(forest_.problem(), node, kernel)));
    known.notes =
        knowledge::Render(page, attempt.kind == AttemptKind::kOwnIdea
                                    ? settings_.knowledge_bytes
                                    : std::min(settings_.knowledge_bytes, kLoweringKnowledgeBytes));
  }
  known.history = forest_.HistoryOf(attempt.node);
  known.documents = TRY(Passages(attempt.option.technique + " " + known.technique + " " +
                                 attempt.option.state + " " + setup_.task.name));
  return known;
}

Result<std::string> MaicProposer::Passages(const std::string& words) {
  const std::string key = "documents:" + Sha256Hex(words);
  if (const auto known = TRY(services_.memos->Find(key))) return *known;
  if (!services_.documents || services_.memos->is_replay()) return std::string();
  const std::string found = TRY(services_.documents(words)).substr(0, kMostDocumentBytes);
  TRY(services_.memos->Keep(key, found));
  return found;
}

Attempt& MaicProposer::AttemptAt(const AttemptSlot& place) {
  return forest_.rollouts().at(static_cast<size_t>(place.rollout)).open.at(place.attempt);
}

// Code first, so that a budget that ends goes into it; reviews are asked in the same breath.
Result<std::vector<Proposal>> MaicProposer::AskAndPropose(const std::vector<AttemptSlot>& places) {
  std::vector<ChatRequest> requests;
  std::vector<std::pair<AttemptSlot, bool>> asked;  // whether there is a request
  for (const AttemptSlot& place : places) {
    const Attempt& attempt = AttemptAt(place);
    if (attempt.request.has_value()) {
      ChatRequest request = WithComplaint(attempt);
      if (!token_budget_.Reserve(request)) break;
      requests.push_back(std::move(request));
    }
    asked.emplace_back(place, attempt.request.has_value());
  }
  const size_t codes = requests.size();
  std::vector<Learner::Question> questions;
  TRY(AskReviews(requests, questions));
  const std::vector<Answer> answers = TRY(model_client_.AskAll(requests));
  TRY(DigestReviews(questions, std::span(answers).subspan(codes)));

  std::vector<Proposal> proposals;
  size_t next = 0;
  for (const auto& [place, has_request] : asked) {
    Proposal proposal;
    if (has_request) {
      proposal = ProposalFrom(answers[next], requests[next], AttemptAt(place));
      ++next;
    } else {
      proposal.candidate = *setup_.run_config.start;
      proposal.candidate.provenance.proposer = Name();
    }
    proposal.cost = proposal.cost + std::exchange(carried_, {});
    proposals.push_back(std::move(proposal));
    judging_.push_back(place);
  }
  return proposals;
}

Proposal MaicProposer::ProposalFrom(const Answer& answer, const ChatRequest& request,
                                    Attempt& attempt) const {
  const Node* node = attempt.node < 0 ? nullptr : &forest_.node(attempt.node);
  const Candidate shown =
      CandidateShown(attempt, node == nullptr ? nullptr : &node->candidate, settings_.form);
  Proposal proposal = Read(answer, request, shown, attempt);
  if (node != nullptr) proposal.candidate.provenance.parent = node->id;
  return proposal;
}

Status MaicProposer::AskReviews(std::vector<ChatRequest>& requests,
                                std::vector<Learner::Question>& questions) {
  for (Learner::Question& question : TRY(learner_.TakeQuestions())) {
    if (!token_budget_.Reserve(question.request)) return {};
    requests.push_back(question.request);
    questions.push_back(std::move(question));
  }
  return {};
}

Status MaicProposer::DigestReviews(const std::vector<Learner::Question>& questions,
                                   std::span<const Answer> answers) {
  for (size_t i = 0; i < questions.size(); ++i) {
    carried_ = carried_ + CostOf(answers[i]);
    TRY(learner_.Digest(questions[i], answers[i]));
  }
  return lessons_.Pass();
}

void MaicProposer::Observe(const Step& step) {
  Status learned = Learn(step);
  if (learned.ok()) learned = lessons_.Pass();
  if (!learned.ok() && !failure_.has_value()) failure_ = learned.error();
}

Status MaicProposer::Learn(const Step& step) {
  CHECK(!judging_.empty());
  const AttemptSlot place = judging_.front();
  judging_.pop_front();
  if (TRY(learner_.Learn(step, AttemptAt(place)))) closed_.push_back(place);
  if (judging_.empty()) CloseEnded();
  return {};
}

void MaicProposer::CloseEnded() {
  // From the back, so that places stay what they are.
  std::sort(closed_.begin(), closed_.end(), [](const AttemptSlot& a, const AttemptSlot& b) {
    return std::pair(a.rollout, a.attempt) > std::pair(b.rollout, b.attempt);
  });
  for (const AttemptSlot& one : closed_) forest_.Close(one.rollout, one.attempt);
  closed_.clear();
}

Status MaicProposer::Conclude() {
  if (failure_.has_value()) return *failure_;
  if (!judging_.empty() || round_ == 0) return {};
  TRY(services_.memos->KeepAll(learner_.TakeMemos()));
  TRY(DiagnoseKernels());
  const std::vector<int> best = forest_.BestFirst();
  for (size_t i = 0; i < std::min(best.size(), kDoubtedAtTheEnd); ++i) learner_.Doubt(best[i]);
  std::vector<ChatRequest> requests;
  std::vector<Learner::Question> questions;
  TRY(AskReviews(requests, questions));
  const std::vector<Answer> answers = TRY(model_client_.AskAll(requests));
  return DigestReviews(questions, answers);
}

std::vector<std::string> MaicProposer::DoubtsAbout(const std::string& candidate_id) const {
  for (const Node& node : forest_.nodes()) {
    if (node.id == candidate_id) return node.doubts;
  }
  return {};
}

std::map<std::string, std::string> MaicProposer::Vetoed() const {
  std::map<std::string, std::string> vetoed;
  for (const Node& node : forest_.nodes()) {
    if (node.vetoed) vetoed.emplace(node.id, node.doubts.back());
  }
  return vetoed;
}

}  // namespace warpsmith::agent
