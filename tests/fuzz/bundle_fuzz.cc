// A bundle that comes back from another machine. The first line says which of its files the rest
// is; with "jobs" the manifest fits, so that its lines are reached.
#include <nlohmann/json.hpp>

#include "base/compression.h"
#include "base/sha256.h"
#include "fuzz.h"
#include "store/bundle.h"

using namespace warpsmith;

namespace {

std::string ManifestFor(std::string_view jobs) {
  return nlohmann::json{{"warpsmith_bundle", store::kBundleVersion},
                        {"architecture", "sm_90a"},
                        {"command", "fuzz"},
                        {"date", "2026-01-01T00:00:00Z"},
                        {"jobs", 1},
                        {"sha256",
                         {{"jobs.jsonl.zst", Sha256Hex(jobs)},
                          {"images/" + Sha256Hex("image") + ".cubin", Sha256Hex("image")}}}}
      .dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [file, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  const std::string jobs = Compress(file == "jobs" ? text : std::string_view(), 1);
  fuzz::WriteInFolder("images/" + Sha256Hex("image") + ".cubin", "image");
  fuzz::WriteInFolder("jobs.jsonl.zst", jobs);
  fuzz::WriteInFolder("manifest.json", file == "manifest" ? std::string(text) : ManifestFor(jobs));
  // Of the first job: so the bundle becomes a recording, too.
  const std::string_view first = text.substr(std::min(text.find("\"key\":\""), text.size()), 72);
  const std::string result =
      "{" + std::string(first) +
      R"(,"gpu_seconds":1,"verdict":{"outcome":"timed-out","step":"s","limit_ms":1}})"
      "\n";
  fuzz::WriteInFolder("results.jsonl", file == "results" ? text : file == "jobs" ? result : "");
  fuzz::WriteInFolder("device.json", store::LineOf(store::RecordingHeader()));
  fuzz::ValueOf(store::RecordedBundle(fuzz::Folder()));
  const auto results = store::ReadBundleResults(fuzz::Folder());
  if (fuzz::ValueOf(results)) {
    for (const auto& [key, completed] : *results) CHECK(completed.key == key);
  }
  return 0;
}
