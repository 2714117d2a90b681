#include "agent/reading.h"

#include <algorithm>
#include <cctype>

#include "agent/knowledge/facts.h"
#include "agent/prompts/code_reply.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::agent {
namespace {

constexpr std::string_view kMark = "technique:";
constexpr size_t kMaxNameBytes = 60, kMaxDescription = 300;

// Without the marks that models put around words: "**TECHNIQUE:** `name`".
std::string WithoutMarkup(std::string_view line) {
  std::string plain;
  for (const char c : line) {
    if (c != '*' && c != '`' && c != '#') plain += c;
  }
  return std::string(Trimmed(plain));
}

bool BeginsWithMark(std::string_view line) {
  if (line.size() < kMark.size()) return false;
  return std::equal(kMark.begin(), kMark.end(), line.begin(), [](char mark, char c) {
    return mark == static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
}

// Where the name ends: at a dash between spaces, a colon, a comma or a bracket.
size_t EndOfName(std::string_view text) {
  size_t end = text.size();
  for (const std::string_view joint :
       {" - ", " -- ", " \xE2\x80\x93 ", " \xE2\x80\x94 ", ":", ",", "(", "."}) {
    end = std::min(end, text.find(joint));
  }
  return std::min(end, text.size());
}

std::string Description(std::string_view rest) {
  const size_t begin = rest.find_first_not_of(" -:,(.\xE2\x80\x93\x94");
  if (begin == rest.npos) return "";
  return ForTerminal(Trimmed(rest.substr(begin)), kMaxDescription);
}

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
  if (attempt.kind != AttemptKind::kOwnIdea) return;
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

std::optional<knowledge::Technique> TechniqueIn(std::string_view reply) {
  bool in_code = false;
  for (const std::string_view raw : prompts::LinesOf(reply)) {
    const std::string_view bare = Trimmed(raw);
    if (bare.starts_with("```") || bare.starts_with("~~~")) in_code = !in_code;
    const std::string line = WithoutMarkup(bare);
    if (in_code || !BeginsWithMark(line)) continue;
    const std::string_view text = Trimmed(std::string_view(line).substr(kMark.size()));
    const size_t end = EndOfName(text);
    knowledge::Technique named;
    named.name = knowledge::CanonicalName(text.substr(0, std::min(end, kMaxNameBytes)));
    named.description = Description(text.substr(end));
    if (!named.name.empty()) return named;
  }
  return std::nullopt;
}

Candidate CandidateShown(const Attempt& attempt, const Candidate* node, Form form) {
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
