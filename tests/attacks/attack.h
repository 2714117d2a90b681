// One known way to fool a judge, as its folder describes it. tests/attacks/README.md.
#ifndef WARPSMITH_TESTS_ATTACKS_ATTACK_H_
#define WARPSMITH_TESTS_ATTACKS_ATTACK_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/protocol.h"

namespace warpsmith::attacks {

// What is attacked. The first two are candidates that a GPU must judge; the others are foreign text
// that our own readers and compilers take in.
enum class Target : uint8_t { kKernel, kProgram, kBuild, kTask, kProfile, kStatistics, kScreen };
std::string_view Name(Target form);

// When the naive judge computes what it compares with.
enum class ReferenceOrder : uint8_t {
  kBefore,  // and keeps it in device memory, as a harness that holds two tensors does
  kFreed,   // before, freed on the device without scrubbing
  kAfter,   // from the inputs as the candidate left them
};

struct Attack {
  std::string name;  // the folder's: "05-cache-by-pointer"
  int number = 0;    // the line of the list of attacks
  Target form = Target::kKernel;
  std::filesystem::path task, twin_task;  // task files; the twin's is the attack's by default
  std::filesystem::path attack, twin;     // candidates, or the text of the other forms
  std::vector<std::string> expected;      // acceptable verdicts: "incorrect:poison", "rejected:*"
  std::string naive = "passed";           // what the naive judge must say to the attack
  double naive_tolerance = 1e-2;          // its allclose's atol and rtol
  ReferenceOrder reference = ReferenceOrder::kBefore;
  Level level = Level::kScreened;
  bool needs_gpu = true;
  std::string note;
};

// Every folder below `root` that has an attack.toml, by name. Errors name file and field.
Result<std::vector<Attack>> LoadAttacks(const std::filesystem::path& root);

// Does a verdict such as "incorrect:poison" satisfy one of the patterns? A `*` stands for any text.
bool IsExpected(const std::string& verdict, const std::vector<std::string>& expected);

// The only candidate of a candidate.toml or .cu file.
Result<Candidate> LoadCandidate(const std::filesystem::path& path);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_ATTACK_H_
