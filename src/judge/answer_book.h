// A candidate's right answers: what each combination of contents gave, so that another answer to
// the same question shows.
#ifndef WARPSMITH_JUDGE_ANSWER_BOOK_H_
#define WARPSMITH_JUDGE_ANSWER_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "core/verdict.h"
#include "judge/correctness.h"

namespace warpsmith::judge {

class AnswerBook {
 public:
  // The verdict on a wrong answer; a right one is entered, here and in `correctness`. `where` as
  // of Diagnose.
  std::optional<Incorrect> Enter(const OutputReport& report, int combination,
                                 std::string_view where, Correctness& correctness);

  // The outputs of a check whose inputs are drawn as the timed ones are.
  void EnterCheck(const OutputReport& report) { bias_.Add(report.bias); }

  // Did another combination than this one give these bits?
  bool IsAnswerToAnother(uint64_t content_hash, int combination) const;

  void BeginRound() { round_deviation_ = 0; }
  double round_deviation() const { return round_deviation_; }  // largest |out - ref| since then
  void ForgetContents() { hashes_.clear(); }

  // Of the outputs entered: each combination's once, for the same inputs tell nothing new.
  const BiasSums& bias() const { return bias_; }

 private:
  std::map<int, uint64_t> hashes_;  // combination -> bits of the right output
  double round_deviation_ = 0;
  BiasSums bias_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ANSWER_BOOK_H_
