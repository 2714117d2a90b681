#include "agent/split/reply.h"

#include <gmock/gmock.h>

#include "agent/split/parts.h"
#include "agent/split/tests/split.h"
#include "task/task_file.h"

namespace warpsmith::split {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

class ReplyTest : public testing::Test {
 protected:
  ReplyTest() {
    WriteTestSplit(folder_.path());
    whole_ = task::LoadTask((folder_.path() / "whole").string()).value().task;
  }

  auto Files(const std::string& reply) const { return FilesFrom(reply, whole_, "../whole"); }
  std::string Changed(const std::string& from, const std::string& to) const {
    std::string text = kTestReply;
    const size_t at = text.find(from);
    CHECK(at != std::string::npos);
    return text.replace(at, from.size(), to);
  }
  void Refuses(const std::string& reply, const std::string& message) const {
    const auto files = Files(reply);
    ASSERT_FALSE(files.ok()) << message;
    EXPECT_EQ(files.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(files.error().message, HasSubstr(message));
    EXPECT_THAT(files.error().Line(), Not(HasSubstr("\n")));
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("reply").value();
  Task whole_;
};

TEST_F(ReplyTest, BecomesAFolderThatCanBeLoaded) {
  const auto files = Files(kTestReply);
  ASSERT_TRUE(files.ok()) << files.error().Line();
  EXPECT_THAT(*files,
              ElementsAre(Key("part-1/reference.py"), Key("part-1/task.toml"),
                          Key("part-2/reference.py"), Key("part-2/task.toml"), Key("parts.toml")));
  for (const auto& [path, text] : *files) WriteTest(folder_.path() / "made" / path, text);
  const auto parts = LoadSplit(folder_.path() / "made", whole_);
  ASSERT_TRUE(parts.ok()) << parts.error().Line();
  const Task& softmax = (*parts)[1].task;
  EXPECT_EQ(softmax.name, "mlp-softmax");
  EXPECT_EQ(softmax.tensors[0].generator, Generator::kUnit);
  EXPECT_EQ(softmax.tolerance.reduction_length->text(), "N");
  EXPECT_EQ(softmax.workloads.size(), 2U);
  EXPECT_TRUE(softmax.workloads[1].hidden);
  EXPECT_EQ(softmax.baselines, whole_.baselines);
}

TEST_F(ReplyTest, TakesTheWholesToleranceWhereItHasNoneOfItsOwn) {
  const auto files = Files(Changed("\"reduction_length\": \"N\",", ""));
  ASSERT_TRUE(files.ok()) << files.error().Line();
  EXPECT_THAT(files->at("part-2/task.toml"), HasSubstr("reduction_length = \"K\""));
}

TEST_F(ReplyTest, TakesThePartsArithmetic) {
  const auto files = Files(Changed("\"reduction_length\": \"K\",",
                                   "\"reduction_length\": \"K\", \"flops\": \"2 * M * N * K\","));
  ASSERT_TRUE(files.ok()) << files.error().Line();
  EXPECT_THAT(files->at("part-1/task.toml"), HasSubstr("flops = \"2 * M * N * K\""));
  Refuses(Changed("\"reduction_length\": \"K\",", "\"flops\": \"a lot\","), "an expression");
}

TEST_F(ReplyTest, TakesOverInWhichPrecisionTheWholesReferenceBegins) {
  whole_.reference.options["precision"] = "f32";
  const auto files = Files(kTestReply);
  ASSERT_TRUE(files.ok()) << files.error().Line();
  for (const auto& [path, text] : *files) WriteTest(folder_.path() / "made" / path, text);
  const auto parts = LoadSplit(folder_.path() / "made", whole_);
  ASSERT_TRUE(parts.ok()) << parts.error().Line();
  EXPECT_EQ((*parts)[0].task.reference.options.at("precision"), "f32");
}

TEST_F(ReplyTest, RefusesWhatIsNoSplitInOneLine) {
  Refuses("I would not split this task: it is small.", "no JSON object with \"parts\"");
  Refuses("", "the reply is empty");
  Refuses(kTestReply.substr(0, kTestReply.size() / 2), "ends inside a block");
  Refuses(kTestReply.substr(0, kTestReply.rfind("```python")), "2 parts and 1 Python blocks");
  Refuses(kTestReply + kTestReply, "names its parts twice");
  Refuses(Changed("[\n  {\"name\": \"product\"", "[ {] "), "the reply: ");
  Refuses("```json\n{\"parts\": []}\n```\n", "0 parts");
  Refuses("```json\n{\"parts\": 7}\n```\n", "parts");
}

TEST_F(ReplyTest, RefusesNamesThatCouldMeanMore) {
  Refuses(Changed("\"name\": \"product\"", "\"name\": \"../product\""), "a part's name");
  Refuses(Changed("\"name\": \"product\"", "\"name\": \"softmax\""), "each part once");
  Refuses(Changed("\"name\": \"h\", \"dtype\"", "\"name\": \"h; rm -rf\", \"dtype\""),
          "a name of letters");
  Refuses(Changed("\"M\", \"N\"", "\"M\", \"system(1)\""), "an expression");
  Refuses(Changed("\"reduction_length\": \"K\"", "\"reduction_length\": \"\\u00e9K\""),
          "reduction_length: expected an expression");
  Refuses(Changed("\"f32\"", "\"float\""), "a type");
  Refuses(Changed("\"unit\"", "\"reference\""), "normal, uniform, unit or integers");
  Refuses(Changed("\"generator\": \"unit\"", "\"flags\": \"-O0\""), "flags");
}

TEST_F(ReplyTest, RefusesTensorsThatNobodyKnowsYet) {
  Refuses(Changed("{\"name\": \"h\", \"generator\"", "{\"name\": \"g\", \"generator\""),
          "a tensor of the whole, or an output of an earlier part");
  Refuses(Changed("{\"name\": \"w\"}", "{\"name\": \"x\"}"), "each tensor of a part once");
}

}  // namespace
}  // namespace warpsmith::split
