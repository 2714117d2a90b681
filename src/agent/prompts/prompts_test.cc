#include "agent/prompts/prompts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/prompts/prompt_values.h"
#include "core/gemm_example.h"
#include "embedded/agent_prompts.h"

namespace warpsmith::prompts {
namespace {

std::vector<EmbeddedFile> Files() {
  const auto files = embedded::AgentPrompts();
  return {files.begin(), files.end()};
}

std::vector<Variable> Variables() { return {VariableTable().begin(), VariableTable().end()}; }

TEST(Prompts, ThoseInsideTheProgramAreWhole) {
  const auto prompts = Prompts::Load(Files(), Variables());
  ASSERT_TRUE(prompts.ok()) << prompts.error().Line();
}

TEST(Prompts, AVariableThatNoPromptUsesIsAnError) {
  auto variables = Variables();
  variables.push_back({"mood", ValueKind::kLine, ""});
  const auto prompts = Prompts::Load(Files(), variables);
  ASSERT_FALSE(prompts.ok());
  EXPECT_EQ(prompts.error().message, "prompts: none uses the variable 'mood'");
}

TEST(Prompts, AnUnknownVariableIsAnError) {
  auto variables = Variables();
  std::erase_if(variables, [](const Variable& one) { return one.name == "technique"; });
  const auto prompts = Prompts::Load(Files(), variables);
  ASSERT_FALSE(prompts.ok());
  EXPECT_EQ(prompts.error().message, "prompt 'lowering.md': no variable is called 'technique'");
}

TEST(Prompts, AMissingFileIsAnError) {
  auto files = Files();
  std::erase_if(files, [](const EmbeddedFile& one) { return one.path.ends_with("repair.md"); });
  const auto prompts = Prompts::Load(files, Variables());
  ASSERT_FALSE(prompts.ok());
  EXPECT_EQ(prompts.error().message, "prompts: no file 'repair.md'");
}

TEST(Prompts, RenderedTextsHoldNoVariableOfOurs) {
  for (int id = 0; id <= static_cast<int>(PromptId::kJoin); ++id) {
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
  for (int id = 0; id <= static_cast<int>(PromptId::kJoin); ++id) {
    const bool is_part = id >= static_cast<int>(PromptId::kReplyKernel) &&
                         id <= static_cast<int>(PromptId::kReplyEdits);
    if (is_part) continue;
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
  const std::string kernel = ReplyFormat(Form::kKernel, Edits::kNotOffered);
  EXPECT_NE(kernel.find("plan.json"), std::string::npos);
  EXPECT_EQ(kernel.find("SEARCH"), std::string::npos);
  const std::string program = ReplyFormat(Form::kProgram, Edits::kOffered);
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

}  // namespace
}  // namespace warpsmith::prompts
