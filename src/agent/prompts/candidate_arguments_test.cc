#include "agent/prompts/candidate_arguments.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "task/hgemm_task.h"

namespace warpsmith::prompts {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kPlan = {
    {"operations", json::array({{{"type", "launch"},
                                 {"kernel", "k"},
                                 {"grid", {1, 1, 1}},
                                 {"block", {32, 1, 1}},
                                 {"arguments", json::array({{{"tensor", "A"}}})}}})}};

Candidate Base() {
  Candidate base;
  base.sources = {{"k.cu", "int a = 1;\nint b = 2;\n"}, {"h.cuh", "#pragma once\n"}};
  base.entry = "k.cu";
  base.flags = {"-DTILE=4"};
  LaunchOperation launch;
  launch.kernel = "base";
  base.plan.operations = {launch};
  base.provenance.technique = "tiling";
  return base;
}

Result<Candidate> From(const json& arguments, const Candidate* base = nullptr) {
  return CandidateFromArguments(JsonReader("evaluate_candidate", arguments), task::HgemmTask("TN"),
                                base);
}
std::string Refusal(const json& arguments, const Candidate* base = nullptr) {
  const auto made = From(arguments, base);
  return made.ok() ? "" : made.error().Line();
}

TEST(CandidateFromArguments, MakesAKernelOfSourcesAndAPlan) {
  const Candidate made =
      From({{"sources", {{"mine.cu", "text"}, {"x.cuh", "more"}}}, {"plan", kPlan}}).value();
  EXPECT_EQ(made.entry, "mine.cu");
  EXPECT_EQ(made.toolchain, "nvrtc");
  EXPECT_TRUE(made.flags.empty());
  EXPECT_EQ(std::get<LaunchOperation>(made.plan.operations.at(0)).kernel, "k");
}

TEST(CandidateFromArguments, ChangesABaseThatKeepsItsFlagsAndPlan) {
  const Candidate base = Base();
  const Candidate made =
      From(
          {{"sources", {{"new.cuh", "x"}}},
           {"remove", {"h.cuh"}},
           {"edits", json::array({{{"file", "k.cu"}, {"search", "b = 2"}, {"replace", "b = 3"}}})}},
          &base)
          .value();
  EXPECT_EQ(made.sources.at("k.cu"), "int a = 1;\nint b = 3;\n");
  EXPECT_EQ(made.sources.count("h.cuh"), 0U);
  EXPECT_EQ(made.sources.count("new.cuh"), 1U);
  EXPECT_EQ(made.flags, base.flags);
  EXPECT_EQ(std::get<LaunchOperation>(made.plan.operations.at(0)).kernel, "base");
  EXPECT_EQ(made.provenance.parent, CandidateId(base));
  EXPECT_EQ(made.provenance.technique, "");
}

TEST(CandidateFromArguments, NamesAreNeverPaths) {
  for (const char* name :
       {"../k.cu", "/etc/k.cu", "a/k.cu", ".k.cu", "k", "k.sh", "-k.cu", "", "k.cu\n"}) {
    EXPECT_NE(Refusal({{"sources", {{name, "text"}}}, {"plan", kPlan}}), "") << name;
  }
}

TEST(CandidateFromArguments, SaysWhatIsMissingOrOff) {
  const Candidate base = Base();
  const json sources = {{"k.cu", "text"}};
  EXPECT_THAT(Refusal(json::object()), HasSubstr("no source"));
  EXPECT_THAT(Refusal({{"sources", sources}}), HasSubstr("needs a launch plan"));
  EXPECT_THAT(Refusal({{"sources", {{"a.cu", ""}, {"b.cu", ""}}}, {"plan", kPlan}}),
              HasSubstr("\"entry\""));
  EXPECT_THAT(Refusal({{"sources", sources}, {"plan", kPlan}, {"entry", "x.cu"}}),
              HasSubstr("entry"));
  EXPECT_THAT(Refusal({{"sources", sources}, {"plan", "launch it"}}), HasSubstr("launch plan"));
  EXPECT_THAT(Refusal({{"sources", sources}, {"form", "program"}}), HasSubstr("only kernels"));
  EXPECT_THAT(Refusal({{"sources", {{"k.cu", 4}}}, {"plan", kPlan}}), HasSubstr("k.cu"));
  EXPECT_THAT(Refusal({{"remove", {"x.cu"}}}, &base), HasSubstr("remove"));
  EXPECT_THAT(
      Refusal({{"edits", json::array({{{"file", "k.cu"}, {"search", "int"}, {"replace", ""}}})}},
              &base),
      HasSubstr("k.cu"));
  EXPECT_THAT(Refusal({{"sources", {{"k.cu", std::string(600'000, 'x')}}}, {"plan", kPlan}}),
              HasSubstr("longer than"));
  json many = json::object();
  for (int i = 0; i < 20; ++i) many["f" + std::to_string(i) + ".cuh"] = "";
  EXPECT_THAT(Refusal({{"sources", many}}, &base), HasSubstr("at most 16"));
}

}  // namespace
}  // namespace warpsmith::prompts
