// The folder of a stand-alone run: job.json.
#include "fuzz.h"
#include "judge/standalone/run_folder.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::WriteInFolder("job.json", fuzz::TextOf(data, size));
  const auto job = standalone::ReadStandaloneJob(fuzz::Folder());
  if (fuzz::ValueOf(job) == nullptr) return 0;
  const auto written = fuzz::Folder() / "written";
  if (fuzz::Succeeded(standalone::WriteStandaloneJob(written, *job, "image"))) {
    CHECK(standalone::ReadStandaloneJob(written).ok());
  }
  std::filesystem::remove_all(written);
  return 0;
}
