#include "serve/tools/tools.h"

#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "agent/knowledge/knowledge_text.h"
#include "task/hgemm_task.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

class Patient : public mcp::CallContext {
 public:
  bool Cancelled() const override { return false; }
  void Report(double, double, const std::string&) override {}
};

// Tools over a product that nobody recorded: whatever needs a verdict says that there is none.
class McpToolsTest : public testing::Test {
 protected:
  McpToolsTest() : machine_(Device()) {
    store_ = store::DatabaseStore::Open(":memory:", store::Durability::kProcessDeath).value();
    auto base = knowledge::KnowledgeBase::Open(":memory:", store::Durability::kProcessDeath,
                                               store::WhenMissing::kCreate)
                    .value();
    base->Take(knowledge::Seed()).value();
    search::WorkbenchRequest request;
    request.task = task::HgemmTask("TN");
    request.workload = task::HgemmWorkload({7, 7, 7});
    request.run = "run";
    request.budget.evaluations = 2;
    search::Workbench bench =
        search::Workbench::Open(request, *store_, [this]() -> Result<search::Seams> {
          return TRY(machine_.Get())->seams();
        }).value();
    tools_ = std::make_unique<McpTools>(std::move(bench), machine_, std::move(base), *store_, "");
  }

  static search::DeviceOptions Device() {
    search::DeviceOptions options;
    options.device = "/nonexistent";
    return options;
  }
  Result<mcp::ToolResult> Call(const std::string& name, const json& arguments) {
    const std::vector<mcp::Tool> tools = McpToolTable();
    mcp::ToolCall call;
    for (; call.tool < tools.size() && tools[call.tool].name != name; ++call.tool) continue;
    call.arguments = std::make_shared<const json>(arguments);
    Patient context;
    return tools_->Call(call, context);
  }

  search::LazyMachine machine_;
  std::unique_ptr<store::DatabaseStore> store_;
  std::unique_ptr<McpTools> tools_;
};

TEST_F(McpToolsTest, EveryToolOfTheTableIsThereAndTakesHostileArguments) {
  const json hostile[] = {json::object(),
                          {{"verdict", 4}},
                          {{"verdict", "run:#-1"}},
                          {{"verdict", "run:run#99999999999999999999"}},
                          {{"base", "run:run#0"}, {"certify", "yes"}},
                          {{"state", "{{x}}"}, {"draw", 1e9}},
                          {{"text", json::array()}},
                          {{"sources", "x"}},
                          {{"unheard", "of"}}};
  for (const mcp::Tool& tool : McpToolTable()) {
    for (const char c : tool.name) EXPECT_TRUE(std::isalnum(c) || c == '_') << tool.name;
    EXPECT_EQ(json::parse(tool.input_schema)["type"], "object") << tool.name;
    EXPECT_FALSE(tool.description.empty());
    for (const json& arguments : hostile) {
      const auto result = Call(tool.name, arguments);
      EXPECT_TRUE(result.ok() || !result.error().message.empty()) << tool.name;
    }
  }
}

TEST_F(McpToolsTest, TellsTheTaskAndHowToGiveACandidate) {
  const std::string text = Call("read_task", json::object())->text;
  for (const char* part : {"\"name\":\"A\"", "reduction_length", "the product A * B", "\"plan\"",
                           "Compiler flags", "cublaslt-auto"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST_F(McpToolsTest, AnOutcomeNeedsAVerdictOfTheJudges) {
  const auto result =
      Call("record_outcome",
           {{"verdict", "run:elsewhere#3"}, {"state", "tail"}, {"technique", "split-k"}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("there is no verdict"), std::string::npos);
}

TEST_F(McpToolsTest, ANoteIsKeptOnceAndItsVerdictHasToBeThere) {
  EXPECT_EQ((*Call("add_note", {{"text", "helps"}, {"state", "Tail"}})->structured)["new"], true);
  EXPECT_EQ((*Call("add_note", {{"text", "helps"}, {"state", "tail"}})->structured)["new"], false);
  EXPECT_FALSE(Call("add_note", {{"text", "helps"}, {"verdict", "run:x#1"}}).ok());
  EXPECT_FALSE(Call("add_note", {{"text", std::string(5000, 'x')}}).ok());
}

TEST_F(McpToolsTest, WithoutAStateTheBaseListsWhatItKnows) {
  const std::string text = Call("query_knowledge", json::object())->text;
  EXPECT_NE(text.find("memory-latency/small-grid"), std::string::npos);
}

TEST_F(McpToolsTest, AnEmptyTextIsAsGoodAsNone) {
  EXPECT_EQ(Call("query_knowledge", {{"state", ""}})->text,
            Call("query_knowledge", json::object())->text);
  EXPECT_EQ((*Call("add_note", {{"text", "x"}, {"state", ""}})->structured)["new"], true);
  EXPECT_FALSE(Call("query_knowledge", {{"state", "..."}}).ok());
}

TEST_F(McpToolsTest, AFlagThatIsNoneIsNotTakenForNo) {
  const auto result = Call("evaluate_candidate", {{"base", "run:run#0"}, {"certify", "true"}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("certify"), std::string::npos);
}

TEST_F(McpToolsTest, SaysWhatIsLeft) {
  const auto result = Call("budget_left", json::object());
  EXPECT_EQ((*result->structured)["limits"]["evaluations"]["left"], 2);
  EXPECT_EQ((*result->structured)["room_for_another"], true);
}

}  // namespace
}  // namespace warpsmith::serve
