// A candidate.toml, an exported candidate.json or a bare .cu file: the first line says which. What
// a family makes is what a recording would give back.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/serialize.h"
#include "fuzz.h"
#include "task/candidate_file.h"

using namespace warpsmith;

namespace {

constexpr size_t kMostPoints = 4;

void MustTravel(const Candidate& candidate) {
  const std::string written = ToJson(candidate).dump();
  const nlohmann::json parsed = ParseJson("written", written).value();
  const auto again = CandidateFrom(JsonReader("written", parsed));
  CHECK(again.ok() && ToJson(*again).dump() == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [name, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (name != "candidate.toml" && name != "candidate.json" && name != "k.cu") return 0;
  fuzz::WriteInFolder("k.cu", name == "k.cu" ? text : "__global__ void k(float* C) {}\n");
  fuzz::WriteInFolder(std::string(name), text);
  const auto file = task::CandidateFile::Load(fuzz::Folder() / name);
  if (fuzz::ValueOf(file) == nullptr) return 0;
  const auto& points = file->space().points();
  for (size_t i = 0; i < std::min(points.size(), kMostPoints); ++i) {
    const auto candidate = file->Make(points[i]);
    if (fuzz::ValueOf(candidate)) MustTravel(*candidate);
  }
  return 0;
}
