// Writes the recording of a scripted run of the agent, for tests of the built program:
// scripted_recording FILE.wsrec
#include <cstdio>

#include "recorded_world.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "scripted_recording: name the file to write\n");
    return 2;
  }
  warpsmith::cli::RecordedWorld run;
  run.world.budget.evaluations = 24;
  const warpsmith::Status recorded = run.Record(argv[1]);
  if (recorded.ok()) return 0;
  std::fprintf(stderr, "scripted_recording: %s\n", recorded.error().Line().c_str());
  return 1;
}
