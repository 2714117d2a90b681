#include "agent/reading.h"

#include "agent/prompts/code_reply.h"
#include "agent/reply_lines.h"
#include "base/utf8.h"

namespace warpsmith::agent {
namespace {

constexpr size_t kMaxKeptReply = size_t{64} << 10;
constexpr const char* kReplyFile = "reply.md";

Proposal Refused(const std::string& text, std::string_view rule, const std::string& reason) {
  Proposal proposal;
  proposal.candidate.sources[kReplyFile] =
      ValidUtf8(std::string_view(text).substr(0, kMaxKeptReply));
  proposal.candidate.entry = kReplyFile;
  proposal.refusal = Rejected{std::string(rule), reason};
  return proposal;
}

Proposal NoCandidate(const ChatSample& sample, const Error& error) {
  const bool declined = error.message.starts_with(prompts::kDeclined);
  std::string reason = error.message;
  if (sample.finish_reason == "length") reason = "the reply was cut off at its limit; " + reason;
  if (sample.finish_reason == "cut") reason = "the reply was too long; " + reason;
  if (sample.finish_reason == "refusal" || sample.finish_reason == "content_filter") {
    reason = "the model refuses; " + reason;
  }
  return Refused(sample.text, declined ? kDeclinedRule : kReplyRule, reason);
}

Proposal CandidateIn(const ChatSample& sample, const Candidate& shown) {
  const prompts::ReplyBase base{shown.sources, shown.entry.empty() ? "kernel.cu" : shown.entry};
  const Result<prompts::CodeReply> reply = prompts::ReadCodeReply(sample.text, base);
  if (!reply.ok()) return NoCandidate(sample, reply.error());
  Proposal proposal;
  proposal.candidate = prompts::WithReply(shown, *reply);
  const bool lacks_plan =
      proposal.candidate.form == Form::kKernel && proposal.candidate.plan.operations.empty();
  if (!lacks_plan) return proposal;
  return Refused(sample.text, kReplyRule, "the reply has no launch plan (plan.json)");
}

void TakeName(const std::string& reply, Attempt& attempt) {
  if (attempt.kind != Kind::kOwnIdea) return;
  if (const auto named = TechniqueIn(reply)) {
    attempt.option.technique = named->name;
    attempt.description = named->description;
  }
}

void PutProvenance(const ChatRequest& request, const Answer& answer, const Attempt& attempt,
                   Proposal& proposal) {
  Provenance& from = proposal.candidate.provenance;
  from.proposer = "agent";
  from.group = "rollout-" + std::to_string(attempt.rollout);
  from.technique = attempt.option.technique;
  from.prompt_sha256 = RequestId(request);
  from.sample_id = "0";
  SamplingParameters sampling;
  sampling.model = answer.reply.model;
  sampling.temperature = request.sampling.temperature.value_or(0);
  sampling.top_p = request.sampling.top_p.value_or(1);
  sampling.seed = request.sampling.seed;
  from.sampling = sampling;
}

}  // namespace

Candidate ShownTo(const Attempt& attempt, const Candidate* node, Form form) {
  if (attempt.failed.has_value()) return *attempt.failed;
  if (node != nullptr) return *node;
  Candidate empty;
  empty.form = form;
  empty.toolchain = form == Form::kKernel ? "nvrtc" : "nvcc";
  return empty;
}

Proposal Read(const Answer& answer, const ChatRequest& request, const Candidate& shown,
              Attempt& attempt) {
  Proposal proposal;
  if (!answer.problem.empty() || answer.reply.samples.empty()) {
    proposal = Refused("", kReplyRule, answer.problem);
  } else {
    const ChatSample& sample = answer.reply.samples.front();
    TakeName(sample.text, attempt);
    proposal = CandidateIn(sample, shown);
  }
  PutProvenance(request, answer, attempt, proposal);
  proposal.cost = CostOf(answer);
  return proposal;
}

}  // namespace warpsmith::agent
