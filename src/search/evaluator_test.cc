#include "search/evaluator.h"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <stdexcept>
#include <string>

namespace warpsmith::search {
namespace {

class ThrowingCompiler : public Compiler {
 public:
  Result<CompileOutcome> Compile(const Candidate& candidate, const std::string&) override {
    if (candidate.entry == "large") throw std::bad_alloc();
    if (candidate.entry == "strange") throw std::runtime_error("strange");
    return CompileOutcome(CompileFailed{});
  }
};

TEST(CompilePool, MemoryThatRunsOutInAThreadIsAnError) {
  ThrowingCompiler compiler;
  CompilePool pool(compiler, "sm_90a", 2);
  for (const char* entry : {"large", "strange", "usual"}) {
    Candidate candidate;
    candidate.entry = entry;
    pool.Add(entry, candidate);
  }
  std::map<std::string, std::string> messages;
  while (messages.size() < 3) {
    for (const CompilePool::Done& done : pool.Collect(std::chrono::seconds(1))) {
      messages[done.key] = done.outcome.ok() ? "" : done.outcome.error().message;
    }
  }
  EXPECT_EQ(messages["large"], "out of memory");
  EXPECT_EQ(messages["strange"], "unexpected: strange");
  EXPECT_EQ(messages["usual"], "");
}

}  // namespace
}  // namespace warpsmith::search
