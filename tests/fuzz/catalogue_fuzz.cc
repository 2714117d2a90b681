// The catalogue of kernels and the pack that is built from it. The first line says what follows:
// "catalogue", "comparison", "libraries", "model", "pack" (its bytes), or "index" (the JSON inside a
// pack, put into one here, with what follows a line of "--" as images).
#include "base/compression.h"
#include "fuzz.h"
#include "gemm_library/pack.h"
#include "hgemm/catalogue.h"
#include "hgemm/cost_model.h"
#include "hgemm/family.h"
#include "hgemm/measurement_text.h"

using namespace warpsmith;

namespace {

// The digest of what is changed at random does not fit: with the line that the error names, it does.
std::string WithDigest(std::string text) {
  const auto read = hgemm::ParseCatalogue("c.csv", text);
  if (fuzz::ValueOf(read) != nullptr) return text;
  const std::string& fix = read.error().fix;
  const size_t line = fix.find("# "), columns = text.find("\nm,n,k");
  if (line == fix.npos || columns == text.npos) return text;
  return text.insert(columns, "\n" + fix.substr(line));
}

// What was read is written, and read again as the same.
void Catalogue(std::string_view text) {
  const auto read = hgemm::ParseCatalogue("c.csv", WithDigest(std::string(text)));
  if (fuzz::ValueOf(read) == nullptr) return;
  for (const hgemm::CatalogueRow& row : read->rows) {
    CHECK(!row.results.empty());
    CHECK(!hgemm::Explain(row).empty());
    CHECK(hgemm::Find(*read, row.problem, row.device) != nullptr);
    if (!hgemm::CheckPoint(row.kernel).ok()) continue;
    CHECK(hgemm::MakeCandidate(row.problem, row.kernel).ok());
    hgemm::PredictUs(row.problem, {}, row.kernel);  // of a kernel that may not take the sizes
  }
  const auto written = hgemm::ToText(*read);
  if (fuzz::ValueOf(written) == nullptr) return;  // numbers too small for the digits written
  const auto again = hgemm::ParseCatalogue("c.csv", *written);
  CHECK(again.ok() && hgemm::ToText(*again).value() == *written);
  CHECK(hgemm::ToText(hgemm::Merge(std::span(&*again, 1))).value() == *written);
}

// The whole part of what was read is written, and read again as the same.
void ReadMeasurements(std::string_view text) {
  const auto read = hgemm::ParseMeasurements("c.csv", text);
  if (fuzz::ValueOf(read) == nullptr) return;
  CHECK(read->whole_bytes <= text.size());
  const auto whole = hgemm::ParseMeasurements("c.csv", text.substr(0, read->whole_bytes));
  CHECK(whole.ok() && hgemm::ToText(whole->table) == hgemm::ToText(read->table));
  const std::string written = hgemm::ToText(read->table);
  const auto again = hgemm::ParseMeasurements("c.csv", written);
  CHECK(again.ok() && hgemm::ToText(again->table) == written);
  CHECK(again->table.shapes.size() == read->table.shapes.size());
}

// What was read predicts something positive of whatever kernel.
void ReadCostModel(std::string_view text) {
  const auto read = hgemm::CostModel::Parse("m.json", text);
  if (fuzz::ValueOf(read) == nullptr) return;
  CHECK(!(read->PredictUs({64, 64, 64}, {}, {"tiny", {}}) < 0));
}

void Pack(std::string_view bytes) {
  const auto pack = gemm_library::ReadPack("p", bytes);
  if (fuzz::ValueOf(pack) == nullptr) return;
  CHECK(pack->rows.size() == pack->catalogue.rows.size());
  for (const gemm_library::PackRow& row : pack->rows) {
    CHECK(row.kernel >= -1 && row.kernel < static_cast<int>(pack->kernels.size()));
  }
  for (const gemm_library::PackKernel& kernel : pack->kernels)
    fuzz::ValueOf(gemm_library::Image(kernel));
}

std::string PackOf(std::string_view text) {
  const size_t cut = text.find("\n--\n");
  const std::string index = Compress(text.substr(0, cut), 1);
  std::string bytes = "warpsmith gemm pack, version 1\n";
  for (int shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>((index.size() >> shift) & 0xff);
  }
  bytes += index;
  if (cut != std::string_view::npos) bytes += text.substr(cut + 4);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, rest] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "catalogue") Catalogue(rest);
  if (kind == "comparison" || kind == "libraries") ReadMeasurements(rest);
  if (kind == "model") ReadCostModel(rest);
  if (kind == "pack") Pack(rest);
  if (kind == "index") Pack(PackOf(rest));
  return 0;
}
