// What is known of a candidate's correctness while its contest runs: what was checked, and the right
// answer to each combination of contents, so that another answer to the same question shows.
#ifndef WARPSMITH_JUDGE_CORRECTNESS_BOOK_H_
#define WARPSMITH_JUDGE_CORRECTNESS_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "judge/correctness.h"

namespace warpsmith::judge {

class CorrectnessBook {
 public:
  // `allowed_bias` as of the problem; 0: bias is not judged.
  explicit CorrectnessBook(double allowed_bias) : allowed_bias_(allowed_bias) {}

  // For the verdict: what was looked for, and what could not be.
  void AddDetector(std::string_view name) { correctness_.detectors.emplace_back(name); }
  void AddAbsent(std::string why) { correctness_.absent.push_back(std::move(why)); }

  // The outputs of the check inputs. The verdict on a wrong one.
  std::optional<Incorrect> EnterChecks(const std::vector<CheckReport>& reports);

  // One output of a batch or burst. The verdict on a wrong answer; a right one is entered. `where`
  // as of Diagnose. An answer that was right for the combination and now is not is called
  // "nondeterministic-wrong".
  std::optional<Incorrect> Enter(const OutputReport& report, int combination,
                                 std::string_view where);

  // Did another combination than this one give these bits?
  bool IsAnswerToAnother(uint64_t content_hash, int combination) const;

  // Around the outputs of a round. The verdict on their bias, which shows only in many of them.
  void BeginRound() { round_deviation_ = 0; }
  std::optional<Incorrect> EndRound();

  // The contents have been drawn anew: a combination's number stands for other inputs now, so what
  // its answer was says nothing any more.
  void ForgetContents() { hashes_.clear(); }

  int64_t outputs_verified() const { return correctness_.outputs_verified; }
  Correctness Finish(Level level) const;

 private:
  double allowed_bias_;
  Correctness correctness_;
  std::map<int, uint64_t> hashes_;  // combination -> bits of the right output
  double round_deviation_ = 0;      // the largest |out - ref| since the round began
  // Of the outputs entered: each combination's once, for the same inputs tell nothing new.
  BiasSums bias_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CORRECTNESS_BOOK_H_
