#include "agent/prompt_writer.h"

#include <algorithm>
#include <cctype>

#include "agent/knowledge/render.h"
#include "agent/prompts/code_reply.h"
#include "agent/prompts/prompt_values.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::agent {
namespace {

using knowledge::GainText;
using knowledge::RatioText;
using prompts::MayKeep;
using prompts::PromptId;
using prompts::Values;

constexpr size_t kMaxLogBytes = 6'000, kMaxChangeBytes = 10'000;

// The log's beginning: later messages often follow from the first.
std::string Shortened(const std::string& log) {
  if (log.size() <= kMaxLogBytes) return log;
  return log.substr(0, log.rfind('\n', kMaxLogBytes)) + "\n(more follows)\n";
}

std::string ProfileText(const Node& node) {
  if (node.report.kernels.empty()) return "none: no profile could be taken\n";
  return profile::ModelBlock(node.report);
}

std::string OrNone(const std::string& text) { return text.empty() ? "nothing" : text; }

void PutCode(const Candidate& candidate, Values& values) {
  values["sources"] = prompts::SourcesText(candidate.sources);
  values["plan"] = prompts::PlanText(candidate.form, candidate.plan);
}

// "1.08x on kernel 2"
std::string ExpectationText(const TechniqueOption& option) {
  std::string text = GainText(option.expected_gain);
  if (!option.target.empty()) text += " on " + option.target;
  if (option.share < 1) {
    text += ", " + GainText(WholeLogGain(option.expected_gain, option.share)) + " on the whole";
  }
  return text;
}

// "1.31x (ratio to the bar 0.902x -> 1.18x [1.17x, 1.19x])"
std::string MeasurementText(const Node& before, const Node& after) {
  std::string text = GainText(LogGain(before, after));
  if (!before.ratio.has_value() || !after.ratio.has_value()) return text;
  return text + " (ratio to the bar " + RatioText(*before.ratio) + " -> " +
         RatioText(*after.ratio) + " [" + RatioText(after.interval.lo) + ", " +
         RatioText(after.interval.hi) + "])";
}

std::string PartsText(std::span<const PartKernel> parts) {
  std::string text;
  for (const PartKernel& part : parts) {
    text += "## " + ForTerminal(part.name) + "\n\n" + prompts::Fenced(part.facts) +
            "\nIts kernel:\n\n" + prompts::SourcesText(part.candidate.sources);
    if (part.candidate.form == Form::kKernel) {
      text += "\nIts launch plan:\n" +
              prompts::Fenced(prompts::PlanText(Form::kKernel, part.candidate.plan));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

PromptWriter::PromptWriter(const Settings& settings, const Task& task, const DeviceInfo& device)
    : settings_(settings),
      task_(task),
      form_(settings.form),
      device_(prompts::DeviceText(device)),
      facts_(prompts::TaskFacts(task)),
      reference_(prompts::ReferenceText(task)) {}

ChatRequest PromptWriter::Ask(std::string_view role, PromptId prompt, const Values& values) const {
  const Result<std::string> text = Render(prompts::Prompts::Embedded().Get(prompt), values);
  CHECK(text.ok());  // our own templates and our own values
  return RequestOf(role, *text);
}

ChatRequest PromptWriter::RequestOf(std::string_view role, std::string text) const {
  ChatRequest request;
  request.role = role;
  request.messages = {{"user", std::move(text)}};
  request.sampling = settings_.sampling;
  return request;
}

ChatRequest PromptWriter::AskForCode(std::string_view role, PromptId prompt, Values values,
                                     MayKeep kept) const {
  values["device"] = device_;
  values["task_name"] = task_.name;
  values["task_facts"] = facts_;
  values["reply_format"] = prompts::ReplyFormat(form_, kept);
  return Ask(role, prompt, values);
}

ChatRequest PromptWriter::Bootstrap(const Attempt& attempt) const {
  ChatRequest request = AskForCode(role::kBootstrap, PromptId::kBootstrap,
                                   {{"reference", reference_}}, MayKeep::kPlan);
  if (attempt.number > 1) {
    request.messages.front().text += "\nEarlier versions failed; this is version " +
                                     std::to_string(attempt.number) +
                                     ": write the plainest code.\n";
  }
  return request;
}

ChatRequest PromptWriter::Join(const Attempt& attempt, std::span<const PartKernel> parts) const {
  ChatRequest request =
      AskForCode(role::kBootstrap, PromptId::kJoin,
                 {{"reference", reference_}, {"parts", PartsText(parts)}}, MayKeep::kPlan);
  if (attempt.number > 1) {
    request.messages.front().text += "\nEarlier versions failed; this is version " +
                                     std::to_string(attempt.number) +
                                     ": join the parts as they are, without fusing any.\n";
  }
  return request;
}

ChatRequest PromptWriter::Lowering(const Attempt& attempt, const Node& node,
                                   const Background& known) const {
  const TechniqueOption& option = attempt.option;
  Values values{{"technique", option.technique},
                {"target", option.target.empty() ? "the whole program" : option.target},
                {"expected_gain", ExpectationText(option)},
                {"technique_notes", OrNone(known.technique)},
                {"notes", OrNone(known.notes)},
                {"states", prompts::StatesText(node.states)},
                {"profile", ProfileText(node)},
                {"history", OrNone(known.history)},
                {"documents", OrNone(known.documents)}};
  PutCode(node.candidate, values);
  return AskForCode(role::kLowering, PromptId::kLowering, std::move(values),
                    MayKeep::kPlanAndLines);
}

ChatRequest PromptWriter::OwnIdea(const Node& node, const Background& known) const {
  Values values{{"reference", reference_},          {"states", prompts::StatesText(node.states)},
                {"profile", ProfileText(node)},     {"history", OrNone(known.history)},
                {"knowledge", OrNone(known.notes)}, {"documents", OrNone(known.documents)}};
  PutCode(node.candidate, values);
  return AskForCode(role::kLowering, PromptId::kOwnIdea, std::move(values), MayKeep::kPlanAndLines);
}

ChatRequest PromptWriter::Improve(const Attempt& attempt, const Node& node) const {
  Values values{{"attempt", std::to_string(attempt.number)}, {"profile", ProfileText(node)}};
  PutCode(node.candidate, values);
  return AskForCode(role::kLowering, PromptId::kImprove, std::move(values), MayKeep::kPlanAndLines);
}

ChatRequest PromptWriter::Contrastive(const Attempt& attempt, std::span<const Node* const> variants,
                                      const std::string& documents) const {
  CHECK(!variants.empty());
  const profile::BottleneckReport& best = variants.front()->report;
  prompts::Contrast contrast{.device = device_,
                             .task_name = task_.name,
                             .facts = facts_,
                             .reference = reference_,
                             .form = form_,
                             .variants = {},
                             .profile = best.kernels.empty() ? "" : profile::ModelBlock(best),
                             .documents = documents,
                             .attempt = attempt.number};
  for (const Node* node : variants) {
    contrast.variants.push_back({&node->candidate, node->ratio, node->interval});
  }
  return RequestOf(role::kLowering, prompts::ContrastivePrompt(contrast));
}

ChatRequest PromptWriter::Repair(const Attempt& attempt) const {
  CHECK(attempt.failed.has_value());
  Values values{
      {"attempt", std::to_string(attempt.failures)},
      {"failure", attempt.failure},
      {"log", Shortened(attempt.log)},
      {"reference", reference_},
      {"technique", IsFirst(attempt) ? "a first correct version" : attempt.option.technique}};
  PutCode(*attempt.failed, values);
  return AskForCode(role::kRepair, PromptId::kRepair, std::move(values), MayKeep::kPlanAndLines);
}

ChatRequest PromptWriter::States(const Node& node) const {
  return Ask(role::kState, PromptId::kStateExtractor,
             {{"states", prompts::StatesText(node.states)},
              {"profile", ProfileText(node)},
              {"sources", prompts::SourcesText(node.candidate.sources)},
              {"known_states", prompts::KnownStatesText()}});
}

ChatRequest PromptWriter::Review(const Node& before, const Node& after,
                                 const TechniqueOption& option, const std::string& notes) const {
  return Ask(role::kReview, PromptId::kStepReview,
             {{"device", device_},
              {"state", option.state},
              {"technique", option.technique},
              {"expected_gain", ExpectationText(option)},
              {"measured_gain", MeasurementText(before, after)},
              {"states", prompts::StatesText(before.states)},
              {"profile", ProfileText(before)},
              {"states_after", prompts::StatesText(after.states)},
              {"profile_after", ProfileText(after)},
              {"change", prompts::SourcesDiff(before.candidate.sources, after.candidate.sources,
                                              kMaxChangeBytes)},
              {"notes", OrNone(notes)}});
}

ChatRequest PromptWriter::Doubts(const Node& node) const {
  Values values{{"task_name", task_.name}, {"task_facts", facts_}, {"reference", reference_}};
  PutCode(node.candidate, values);
  return Ask(role::kDoubts, PromptId::kSoftVerification, values);
}

ChatRequest WithComplaint(const Attempt& attempt) {
  CHECK(attempt.request.has_value());
  ChatRequest request = *attempt.request;
  if (attempt.complaint.empty()) return request;
  request.messages.front().text +=
      "\n# An earlier reply\n\nAn earlier reply to this prompt (number " +
      std::to_string(attempt.failures) +
      ") could not be used: " + ForTerminal(attempt.complaint, 300) +
      "\nReply in the format above.\n";
  return request;
}

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
