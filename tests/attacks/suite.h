// Attack by attack: what the naive judge says, what ours says, and whether that is as it should be.
#ifndef WARPSMITH_TESTS_ATTACKS_SUITE_H_
#define WARPSMITH_TESTS_ATTACKS_SUITE_H_

#include <filesystem>
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
  // In the first mode, where both passed: the time, the twin's, and what two judgements of the twin
  // may differ by (0.01: 1 %); the ratios to the first baseline, where the task has one. Else 0.
  double us = 0, twin_us = 0, band = 0, ratio = 0, twin_ratio = 0;
  std::string remark;  // for a person, not in the CSV: times, details
};

inline constexpr char kCsvHeader[] =
    "attack,form,twin,run,naive,verdict,expected,ok,us,twin_us,band,ratio,twin_ratio";
std::string CsvLine(const Row& row);

// Several measurements of one thing, as judgements of one honest twin are: the A/A band.
struct Repeats {
  std::vector<double> values;

  double middle() const;
  // Twice what they lie apart by, and at least 1 %: as a factor's logarithm.
  double band() const;
};
// What the suite works with. Without a device only attacks that need no GPU are judged, and the
// others' candidates compiled.
struct Bench {
  Builder builder;
  Compiler* naive_compiler = nullptr;  // links whatever it is asked to; null: no naive judge
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

  // Hands all that `run` will ask to a server, which judges one while it compiles others.
  Status SendAhead(const std::vector<Attack>& attacks, int run);

 private:
  struct Answer {
    NaiveVerdict naive;
    OurVerdict ours;
  };
  // Of one candidate, judged several times.
  struct Times {
    std::vector<Repeats> us;  // in each mode
    Repeats ratio;

    void Add(const OurVerdict& passed);
  };
  // The verdict is the first that is not "passed".
  struct TwinAnswer {
    Answer answer;
    Times times;
  };
  // An attack or a twin, for the so-manieth time. A server knows an equal candidate's verdict, so
  // that another time is another candidate, by a comment.
  struct Asked {
    const Attack& attack;
    bool twin;
    int run, judgement = 1;
  };
  Row JudgeText(const Attack& attack, bool twin, int run);
  Answer Ask(const Asked& asked);
  Result<Answer> AskBoth(const Asked& asked);
  OurVerdict AskOursAbout(const Asked& asked);
  Result<Candidate> CandidateOf(const Asked& asked) const;
  Result<NaiveVerdict> AskNaiveAbout(const Attack& attack, const task::LoadedTask& loaded,
                                     const Candidate& candidate);
  const TwinAnswer& AskTwin(const Attack& attack, int run);
  static bool IsNoGain(const Times& attack, const Times& twin);
  void Compare(const Attack& attack, const OurVerdict& passed, Times twin, Row& row);

  Bench bench_;
  std::map<std::string, TwinAnswer> twins_;  // by twin, task, level and run: attacks share them
};

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_SUITE_H_
