#include "agent/prompts/prompts.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <deque>

#include "agent/prompts/prompt_values.h"
#include "base/utf8.h"
#include "core/tests/gemm_example.h"
#include "embedded/agent_prompts.h"

namespace warpsmith::prompts {
namespace {

std::vector<EmbeddedFile> Files() {
  const auto files = embedded::AgentPrompts();
  return {files.begin(), files.end()};
}

// What loading says of the files, with `instead` where {{technique}} stands in them.
std::string ErrorWithTechniqueAs(const std::string& instead) {
  std::deque<std::string> texts;
  std::vector<EmbeddedFile> files = Files();
  for (EmbeddedFile& file : files) {
    std::string& text = texts.emplace_back(file.contents);
    const std::string_view name = "{{technique}}";
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
      text.replace(at, name.size(), instead);
    }
    file.contents = text;
  }
  const auto prompts = Prompts::Load(files);
  return prompts.ok() ? "" : prompts.error().message;
}

TEST(Prompts, ThoseInsideTheProgramAreWhole) {
  const auto prompts = Prompts::Load(Files());
  ASSERT_TRUE(prompts.ok()) << prompts.error().Line();
}

TEST(Prompts, AVariableThatNoPromptUsesIsAnError) {
  EXPECT_EQ(ErrorWithTechniqueAs("a text"), "prompts: none uses the variable 'technique'");
}

TEST(Prompts, AnUnknownVariableIsAnError) {
  EXPECT_EQ(ErrorWithTechniqueAs("{{mood}}"), "prompt 'lowering.md': no variable is called 'mood'");
}

TEST(Prompts, AMissingFileIsAnError) {
  auto files = Files();
  std::erase_if(files, [](const EmbeddedFile& one) { return one.path.ends_with("repair.md"); });
  const auto prompts = Prompts::Load(files);
  ASSERT_FALSE(prompts.ok());
  EXPECT_EQ(prompts.error().message, "prompts: no file 'repair.md'");
}

TEST(Prompts, RenderedTextsHoldNoVariableOfOurs) {
  for (int id = 0; id <= static_cast<int>(PromptId::kReplyConfiguration); ++id) {
    const PromptTemplate& prompt = Prompts::Embedded().Get(static_cast<PromptId>(id));
    Values values;
    for (const std::string& name : VariablesOf(prompt)) values[name] = "a value";
    const auto text = Render(prompt, values);
    ASSERT_TRUE(text.ok()) << text.error().Line();
    EXPECT_EQ(text->find("{{"), std::string::npos) << prompt.name;
    EXPECT_GE(prompt.version, 1);
  }
}

TEST(Prompts, EachThatIsAskedSaysHowToReply) {
  for (int id = 0; id <= static_cast<int>(PromptId::kReplyConfiguration); ++id) {
    const bool is_part = id >= static_cast<int>(PromptId::kReplyKernel) &&
                         id <= static_cast<int>(PromptId::kReplyEdits);
    if (is_part || id >= static_cast<int>(PromptId::kReplyKeptPlan)) continue;
    const PromptTemplate& prompt = Prompts::Embedded().Get(static_cast<PromptId>(id));
    const bool says = std::any_of(
        prompt.pieces.begin(), prompt.pieces.end(),
        [](const Piece& piece) { return piece.text.find("\n# Reply\n") != std::string::npos; });
    EXPECT_TRUE(says) << prompt.name;
  }
}

TEST(PromptValues, HiddenWorkloadsStayHidden) {
  Task task = GemmTask();
  task.workloads = {{"shown", {{"M", 256}, {"N", 256}, {"K", 64}}, 1, false},
                    {"secret", {{"M", 7777}, {"N", 256}, {"K", 64}}, 1, true}};
  const std::string facts = TaskFacts(task);
  EXPECT_NE(facts.find("\"M\":256"), std::string::npos) << facts;
  EXPECT_EQ(facts.find("7777"), std::string::npos) << facts;
  EXPECT_EQ(facts.find("secret"), std::string::npos) << facts;
  EXPECT_NE(facts.find("\"dtype\""), std::string::npos) << facts;
}

TEST(PromptValues, AFilesFenceIsLongerThanItsOwn) {
  EXPECT_EQ(SourcesText({{"a.cu", "// ```\n"}, {"b.cuh", "int b;"}}),
            "a.cu\n````\n// ```\n````\n\nb.cuh\n```\nint b;\n```\n");
  EXPECT_EQ(SourcesText({}), "none\n");
}

TEST(PromptValues, ReplyFormatsFollowTheForm) {
  const std::string kernel = ReplyFormat(Form::kKernel, MayKeep::kPlan);
  EXPECT_NE(kernel.find("plan.json"), std::string::npos);
  EXPECT_EQ(kernel.find("SEARCH"), std::string::npos);
  const std::string whole = ReplyFormat(Form::kKernel, MayKeep::kNothing);
  EXPECT_TRUE(
      whole.ends_with("is timed. With several `.cu` files, call the one to compile "
                      "`kernel.cu`; it includes the others.\n"))
      << whole;
  EXPECT_TRUE(kernel.ends_with("is timed. Leave the block out to keep the plan as it is.\n"));
  const std::string program = ReplyFormat(Form::kProgram, MayKeep::kPlanAndLines);
  EXPECT_EQ(program.find("plan.json"), std::string::npos);
  EXPECT_NE(program.find("<<<<<<< SEARCH"), std::string::npos);
}

TEST(PromptValues, PlanAndReferenceAreText) {
  EXPECT_NE(PlanText(Form::kKernel, {}).find("\"operations\""), std::string::npos);
  EXPECT_EQ(PlanText(Form::kProgram, {}), "none: a program launches its kernels itself");
  Task task = GemmTask();
  EXPECT_NE(ReferenceText(task).find("the product A * B"), std::string::npos);
  task.reference = {"torch", {{"entry", "ref.py"}}, {{"ref.py", "def f(x): return x"}}, {}};
  EXPECT_NE(ReferenceText(task).find("--- ref.py\ndef f(x): return x\n"), std::string::npos);
  EXPECT_NE(KnownStatesText().find("- memory-latency: warps wait"), std::string::npos);
}

constexpr Variable kKnown[] = {{"name", ValueKind::kLine, ""},
                               {"words", ValueKind::kText, ""},
                               {"code", ValueKind::kFenced, ""}};

std::string WhyNotTemplate(std::string_view file) {
  const auto prompt = ParseTemplate("p.md", file, kKnown);
  return prompt.ok() ? "it is one" : prompt.error().message;
}

std::string Rendered(std::string_view file, const Values& values) {
  const auto text = Render(ParseTemplate("p.md", file, kKnown).value(), values);
  return text.ok() ? *text : "error: " + text.error().message;
}

TEST(PromptTemplate, FillsVariablesAndKeepsItsVersion) {
  const auto prompt =
      ParseTemplate("p.md", "version: 12\n---\nOf {{name}}:\n{{code}}\nend\n", kKnown);
  ASSERT_TRUE(prompt.ok()) << prompt.error().Line();
  EXPECT_EQ(prompt->version, 12);
  EXPECT_EQ(VariablesOf(*prompt), (std::vector<std::string>{"code", "name"}));
  EXPECT_EQ(Render(*prompt, {{"name", "k"}, {"code", "int x;"}}).value(),
            "Of k:\n```\nint x;\n```\nend\n");
}

TEST(PromptTemplate, RefusesWhatItCannotFill) {
  EXPECT_EQ(WhyNotTemplate("version: 1\n---\n{{nmae}}"),
            "prompt 'p.md': no variable is called 'nmae'");
  EXPECT_EQ(WhyNotTemplate("version: 1\n---\n{{ name }}"),
            "prompt 'p.md': no variable is called ' name '");
  EXPECT_EQ(WhyNotTemplate("version: 1\n---\n{{name"), "prompt 'p.md': a '{{' is never closed");
  EXPECT_EQ(WhyNotTemplate("version: 1\n---\nthe {{code}}"),
            "prompt 'p.md': 'code' needs a line of its own");
  EXPECT_EQ(WhyNotTemplate("version: 1x\n---\n"),
            "prompt 'p.md': version '1x' is no number from 1");
  EXPECT_EQ(WhyNotTemplate("version: 0\n---\n"), "prompt 'p.md': version '0' is no number from 1");
  EXPECT_NE(WhyNotTemplate("hello").find("does not begin with 'version: N'"), std::string::npos);
}

TEST(PromptTemplate, RefusesMissingAndSuperfluousValues) {
  EXPECT_EQ(Rendered("version: 1\n---\n{{name}}", {}), "error: prompt 'p.md' was given no 'name'");
  EXPECT_EQ(Rendered("version: 1\n---\n{{name}}", {{"name", ""}, {"words", ""}}),
            "error: prompt 'p.md' has no variable 'words'");
}

TEST(PromptTemplate, ALineStaysALine) {
  EXPECT_EQ(Rendered("version: 1\n---\n<{{name}}>", {{"name", "a\n```\n# Reply\x1b"}}),
            "<a?'''?# Reply?>");
}

TEST(PromptTemplate, AValueIsNeverExpanded) {
  EXPECT_EQ(Rendered("version: 1\n---\n{{name}} {{words}}",
                     {{"name", "{{words}}"}, {"words", "{{name}} {{none}}"}}),
            "{{words}} {{name}} {{none}}");
}

TEST(PromptTemplate, ALongFencedValueLosesItsMiddle) {
  std::string log = "first error\n" + std::string(2 * kMaxFencedBytes, 'x') + "\n2 errors in all\n";
  const std::string fenced = Fenced(log);
  EXPECT_LT(fenced.size(), kMaxFencedBytes + 100);
  EXPECT_TRUE(fenced.starts_with("```\nfirst error\n"));
  EXPECT_TRUE(fenced.ends_with("2 errors in all\n```\n"));
  EXPECT_NE(fenced.find("bytes left out]"), std::string::npos);
}

std::string Hostile() {
  const auto parts =
      *rc::gen::container<std::vector<std::string>>(rc::gen::weightedOneOf<std::string>(
          {{3,
            rc::gen::element<std::string>("`", "```", "\n", "\r", "````\n", "{{name}}", "{{", "}}",
                                          "~~~", "version: 1\n---\n", "\xff", "# Reply\n")},
           {1, rc::gen::arbitrary<std::string>()}}));
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

// A reader of Markdown finds the closing fence where it was written, and the value before it.
RC_GTEST_PROP(PromptTemplate, AFenceHoldsAnything, ()) {
  const std::string value = Hostile();
  const std::string fenced = Fenced(value);
  const std::string fence = fenced.substr(0, fenced.find('\n'));
  RC_ASSERT(fence.find_first_not_of('`') == std::string::npos && fence.size() >= 3);
  const size_t close = fenced.find(fence, fence.size());
  RC_ASSERT(close == fenced.size() - fence.size() - 1);
  const std::string valid = ValidUtf8(value);
  RC_ASSERT(fenced.substr(fence.size() + 1, valid.size()) == valid);
  RC_ASSERT(IsUtf8(fenced));
}

RC_GTEST_PROP(PromptTemplate, WhatValuesHoldStaysData, ()) {
  const Values values = {{"name", Hostile()}, {"words", Hostile()}, {"code", Hostile()}};
  const std::string text =
      Rendered("version: 3\n---\n[{{name}}]\n[{{words}}]\n{{code}}\nend", values);
  const std::string words = ValidUtf8(values.at("words"));
  const size_t line_end = text.find('\n');
  RC_ASSERT(text.starts_with("[") && text[line_end - 1] == ']');
  RC_ASSERT(text.substr(line_end) == "\n[" + words + "]\n" + Fenced(values.at("code")) + "end");
}

}  // namespace
}  // namespace warpsmith::prompts
