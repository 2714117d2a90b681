// Attack by attack: what the naive judge says, what ours says, and whether that is as it should be.
#ifndef WARPSMITH_TESTS_ATTACKS_SUITE_H_
#define WARPSMITH_TESTS_ATTACKS_SUITE_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attack.h"
#include "core/device.h"
#include "naive_judge.h"
#include "our_judge.h"

namespace warpsmith::attacks {

// One line of the CSV. A twin's `expected` is "passed".
struct Row {
  std::string attack, form;
  bool twin = false;
  int run = 0;
  std::string naive, verdict, expected;
  bool ok = false;
  std::string remark;  // for a person, not in the CSV: times, details
};

inline constexpr char kCsvHeader[] = "attack,form,twin,run,naive,verdict,expected,ok";
std::string CsvLine(const Row& row);

// What the suite works with. Without a device only attacks that need no GPU are judged, and the
// others' candidates compiled.
struct Bench {
  Builder builder;
  Compiler* naive_compiler = nullptr;  // links whatever it is asked to
  Device* device = nullptr;
  std::filesystem::path gemm_reference;  // the naive judge's matrix product
  bool compile_programs = true;          // without a device: nvcc takes seconds for each
};

class Suite {
 public:
  explicit Suite(Bench bench) : bench_(std::move(bench)) {}

  // Two rows: the twin's, then the attack's.
  std::vector<Row> Judge(const Attack& attack, int run);

  // Without a GPU: "passed" where the candidate compiles or is stated not to.
  std::vector<Row> CompileOnly(const Attack& attack);

  // Fills the compiler's cache from several threads, so that the device does not wait.
  void CompileAhead(const std::vector<Attack>& attacks, int threads);

 private:
  struct Answer {
    NaiveVerdict naive;
    OurVerdict ours;
  };
  Row JudgeText(const Attack& attack, bool twin, int run);
  Answer Ask(const Attack& attack, bool twin);
  Result<Answer> AskBoth(const Attack& attack, bool twin);
  Result<NaiveVerdict> AskNaiveAbout(const Attack& attack, const task::LoadedTask& loaded,
                                     const Candidate& candidate);
  const Answer& TwinAnswer(const Attack& attack, int run);

  Bench bench_;
  std::map<std::string, Answer> twins_;  // by twin, task, level and run: attacks share them
};

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_SUITE_H_
