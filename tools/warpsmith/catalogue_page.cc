#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catalogue.h"
#include "comparison_file.h"
#include "dispatch_commands.h"
#include "report/analysis/study_page.h"

namespace warpsmith::cli {
namespace {

Result<std::optional<hgemm::ComparisonTable>> ReadBench(const std::vector<std::string>& paths) {
  if (paths.empty()) return std::optional<hgemm::ComparisonTable>();
  return std::optional(TRY(ReadJoined(paths)));
}

// File names alone: the page may be published, folders of a machine need not be.
std::string SourcesText(const CataloguePageOptions& options) {
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  std::string text = "Drawn from the catalogue " + name(options.catalogue);
  for (size_t i = 0; i < options.bench.size(); ++i) {
    text += (i == 0 ? " and the comparison " : ", ") + name(options.bench[i]);
  }
  return text;
}

}  // namespace

Result<int> RunCataloguePage(const CataloguePageOptions& options) {
  const hgemm::Catalogue catalogue = TRY(ReadCatalogue(options.catalogue));
  const auto comparison = TRY(ReadBench(options.bench));
  const analysis::Study study = TRY(analysis::MakeStudy(catalogue, comparison));
  TRY(WriteFileAtomic(options.html, analysis::ToHtml(study, SourcesText(options))));
  Tell(options.common, options.html,
       std::to_string(catalogue.rows.size()) + " shapes in " + options.html,
       {{"schema", "warpsmith.catalogue-page"}, {"rows", catalogue.rows.size()}});
  return 0;
}

}  // namespace warpsmith::cli
