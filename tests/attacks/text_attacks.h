// The attacks that need no GPU: on compilers, task files, profiler text and statistics. Each has a
// naive reader of its own and is then given to the program's.
#ifndef WARPSMITH_TESTS_ATTACKS_TEXT_ATTACKS_H_
#define WARPSMITH_TESTS_ATTACKS_TEXT_ATTACKS_H_

#include <filesystem>
#include <string>

#include "attack.h"
#include "core/compiler.h"

namespace warpsmith::attacks {

// "passed" where the text gets what it wants, else why not: "compile-failed", "refused:bad-input".
//   build       it compiles
//   task        it loads, with every workload (a file called candidate…: as a candidate)
//   profile     the shortest kernel is read as `wanted_ns` long
//   statistics  the candidate is found faster
//   screen      a line of the terminal begins as the file's last line wants it
struct TextQuestion {
  Target form = Target::kBuild;
  std::filesystem::path file;
  double wanted_ns = 0;
};

// Profiler reports that lie want a kernel of 1 ns believed, honest ones say 5000.
TextQuestion AttackQuestion(const Attack& attack);
TextQuestion TwinQuestion(const Attack& attack);

std::string AskNaiveReader(const TextQuestion& question);
std::string AskOurReader(const TextQuestion& question, Compiler& compiler,
                         const std::string& architecture);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_TEXT_ATTACKS_H_
