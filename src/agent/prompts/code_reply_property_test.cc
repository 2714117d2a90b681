// What holds of every reply.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/prompt_template.h"

namespace warpsmith::prompts {
namespace {

std::string CodeLine() {
  return *rc::gen::element<std::string>("int i = 0;", "  y[i] = x[i];", "}", "",
                                        "// ``` in a comment", "```", "// kernel", "\tif (a < b) {",
                                        "=======", "#pragma unroll", "__syncthreads();", "{{name}}",
                                        "asm(\"mov\");", "~~~", "/* \xC3\xA9 */");
}

std::string Code(int least = 1) {
  const int lines = *rc::gen::inRange(least, 30);
  std::string text = "__global__ void k" + std::to_string(*rc::gen::inRange(0, 1000)) + "() {\n";
  for (int i = 0; i < lines; ++i) text += CodeLine() + "\n";
  return text;
}

RC_GTEST_PROP(CodeReplyProperty, WholeFilesComeBack, ()) {
  std::map<std::string, std::string> files = {{"kernel.cu", Code()}};
  if (*rc::gen::arbitrary<bool>()) files["part.cuh"] = Code();
  std::string reply = "Some words.\n\n";
  for (const auto& [name, text] : files) reply += name + "\n" + Fenced(text) + "\n";
  const auto read = ReadCodeReply(reply, {});
  RC_ASSERT(read.ok());
  RC_ASSERT(read->sources == files);
}

// A stretch of a file that stands there once, given as an edit, is replaced and nothing else is.
RC_GTEST_PROP(CodeReplyProperty, EditsChangeTheirPlaceAlone, ()) {
  std::vector<std::string> lines;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    lines.push_back("  x[" + std::to_string(i) +
                    "] = " + *rc::gen::element<std::string>("a", "b * c", "f(1,  2)") + ";");
  }
  const int begin = *rc::gen::inRange(0, count), end = *rc::gen::inRange(begin + 1, count + 1);
  const bool loose = *rc::gen::arbitrary<bool>();
  std::string before, found, after;
  for (int i = 0; i < count; ++i) (i < begin ? before : i < end ? found : after) += lines[i] + "\n";
  std::string search = found;
  if (loose) search = "\t" + search;
  const std::string put = "  y = " + std::to_string(*rc::gen::arbitrary<int>()) + ";\n";
  const auto read = ReadCodeReply(
      "kernel.cu\n<<<<<<< SEARCH\n" + search + "=======\n" + put + ">>>>>>> REPLACE\n",
      {{{"kernel.cu", before + found + after}}, "kernel.cu"});
  RC_ASSERT(read.ok());
  RC_ASSERT(read->sources.at("kernel.cu") == before + put + after);
}

RC_GTEST_PROP(CodeReplyProperty, AnyBytesAreACandidateOrALine, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::element<std::string>(
                         "```", "```cuda kernel.cu\n", "\n", "<think>", "</think>", "kernel.cu\n",
                         "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "@@ -1 +1 @@\n",
                         "--- a/k.cu\n+++ b/k.cu\n", "-", "+", "__global__", "{\"plan\":", "}",
                         "[[plan.operations]]\n", "```json plan.json\n", "../x.cu", "\r", "\xff"),
                     rc::gen::arbitrary<std::string>()));
  std::string reply;
  for (const std::string& part : parts) reply += part;
  const auto read = ReadCodeReply(
      reply, {{{"kernel.cu", "__global__ void k() {}\n"}, {"tile.cuh", "#define TILE 16\n"}},
              "kernel.cu"});
  if (!read.ok()) {
    RC_ASSERT(!read.error().message.empty());
    RC_ASSERT(read.error().message.find('\n') == std::string::npos);
    return;
  }
  RC_ASSERT(read->sources.contains(read->entry));
  for (const auto& [name, text] : read->sources) {
    RC_ASSERT(name.find('/') == std::string::npos && !name.empty());
  }
}

}  // namespace
}  // namespace warpsmith::prompts
