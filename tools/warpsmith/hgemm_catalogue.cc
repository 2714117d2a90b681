// `hgemm catalogue` and `hgemm build`.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "command_tree.h"
#include "commands.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/measurement_file.h"
#include "hgemm/bench/pack_builder.h"
#include "hgemm/bench/primary_choices.h"
#include "hgemm/catalogue.h"
#include "hgemm/comparison_summary.h"
#include "search/machine/machine.h"

namespace warpsmith::cli {
namespace {

struct CatalogueOptions {
  search::CommonOptions common;
  std::string store;               // make: the database; empty: the user's
  std::string run;                 // make: only runs of this tuning; empty: all
  std::vector<std::string> files;  // merge, check
  std::string catalogue;           // guard, page
  // guard: comparisons of its kernels; empty: what its rows hold. page: comparisons, whose ratios
  // stand for the catalogue's.
  std::vector<std::string> bench;
  std::string output;   // make, merge, guard: a catalogue; "-": stdout
  std::string html;     // page
  bool strict = false;  // guard: what was not compared is cuBLASLt's
};

// What a command that wrote a catalogue (or its page) has to say: the document, if one was asked
// for and stdout is not taken by the output, else the words, on stderr.
void PrintResult(const search::CommonOptions& common, const std::string& output,
                 const std::string& words, std::string_view schema, nlohmann::json document) {
  if (common.json && output != "-") {
    document["file"] = output;
    PrintDocument(schema, document);
  } else if (!common.quiet) {
    std::fprintf(stderr, "%s\n", words.c_str());
  }
}

// What its user has to know of the kernels.
std::string KernelsInWords(const hgemm::GuardedCatalogue& guarded) {
  std::string text;
  if (guarded.built_anew > 0) {
    text += fmt::format(
        "\n{} kernels had been built anew since they were tuned; their rows have the hashes of "
        "what was compared now",
        guarded.built_anew);
  }
  if (guarded.changed > 0) {
    text += fmt::format(
        "\n{} kernels are built otherwise by this program than what was compared: measure them "
        "again, or leave them out with 'hgemm build --strict'",
        guarded.changed);
  }
  return text;
}

std::string InWords(const hgemm::GuardedCatalogue& guarded, bool strict) {
  return fmt::format(
             "{} rows decided: {} are kernels now that were cuBLASLt's, {} the other way round; {} "
             "rows were not compared{}; {} are of another device, layout or type; {} compared "
             "shapes have no row",
             guarded.decided, guarded.to_kernel, guarded.to_cublaslt, guarded.not_compared,
             strict ? " and are cuBLASLt's" : " and stay as they were", guarded.elsewhere,
             guarded.not_catalogued) +
         KernelsInWords(guarded);
}

Result<int> Write(const hgemm::GuardedCatalogue& guarded, const CatalogueOptions& options,
                  const std::string& words) {
  TRY(hgemm::WriteCatalogue(guarded.catalogue, options.output));
  PrintResult(options.common, options.output, words, "catalogue-guard",
              {{"decided", guarded.decided},
               {"to_kernel", guarded.to_kernel},
               {"to_cublaslt", guarded.to_cublaslt},
               {"not_compared", guarded.not_compared},
               {"elsewhere", guarded.elsewhere},
               {"not_catalogued", guarded.not_catalogued},
               {"built_anew", guarded.built_anew},
               {"changed", guarded.changed}});
  return 0;
}

// Nothing was compared yet.
Result<int> LeaveAll(const hgemm::Catalogue& catalogue, const CatalogueOptions& options) {
  hgemm::GuardedCatalogue left{hgemm::LeftToCublasLt(catalogue)};
  left.not_compared = left.to_cublaslt = static_cast<int>(catalogue.rows.size());
  return Write(left, options,
               fmt::format("{} rows are cuBLASLt's until their kernels are compared with it",
                           left.not_compared));
}

// No comparison is named: by those that the rows hold.
Result<int> ChooseAnew(const hgemm::Catalogue& catalogue, const CatalogueOptions& options) {
  const hgemm::GuardedCatalogue guarded = hgemm::GuardAnew(catalogue);
  if (guarded.decided == 0) {
    return Error{ErrorCode::kNothingMeasured, options.catalogue + ": no row was compared",
                 "name --bench, or --strict: then every row is cuBLASLt's until it is compared"};
  }
  return Write(
      guarded, options,
      fmt::format("by the results that {} rows hold: {} are kernels now that were "
                  "cuBLASLt's, {} the other way round; {} rows were not compared and stay "
                  "as they were",
                  guarded.decided, guarded.to_kernel, guarded.to_cublaslt, guarded.not_compared) +
          KernelsInWords(guarded));
}

Result<std::optional<hgemm::MeasurementTable>> ReadBench(const std::vector<std::string>& paths) {
  if (paths.empty()) return std::optional<hgemm::MeasurementTable>();
  return std::optional(TRY(hgemm::ReadJoined(paths)));
}

// File names alone: the page may be published, folders of a machine need not be.
std::string SourcesText(const CatalogueOptions& options) {
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  std::string text = "Drawn from the catalogue " + name(options.catalogue);
  for (size_t i = 0; i < options.bench.size(); ++i) {
    text += (i == 0 ? " and the comparison " : ", ") + name(options.bench[i]);
  }
  return text;
}

void PrintBuild(const hgemm::BuildTally& tally, const gemm_library::Pack& pack,
                const std::string& path, size_t bytes, bool json) {
  if (json) {
    PrintDocument(
        "gemm-build",
        {{"pack", path},
         {"bytes", bytes},
         {"rows", pack.rows.size()},
         {"with_kernels", tally.kernels},
         {"with_cublaslt", pack.rows.size() - tally.kernels},
         {"without_algorithm", tally.untuned},
         {"kernels", pack.kernels.size()},
         {"changed", tally.changed},
         {"unmeasured", tally.unmeasured},
         {"lost", tally.lost},
         {"asked",
          {{"measured", tally.measured}, {"guessed", tally.guessed}, {"cublaslt", tally.left}}},
         {"warnings", tally.warnings},
         {"failed", tally.failed}});
    return;
  }
  const size_t asked = tally.measured + tally.guessed + tally.left;
  std::string yours;
  if (asked > 0) {
    yours = fmt::format(
        " your shapes, in each layout and type of the catalogue: {} measured, {} guessed, {} "
        "cuBLASLt;",
        tally.measured, tally.guessed, tally.left);
  }
  std::printf("%s: %zu bytes;%s %zu row%s packed, %zu with a kernel (%zu different)\n",
              path.c_str(), bytes, yours.c_str(), pack.rows.size(),
              pack.rows.size() == 1 ? "" : "s", tally.kernels, pack.kernels.size());
  if (asked > 0 && tally.left == asked) {
    std::puts(
        "cuBLASLt is the choice for all of them; no pack is needed (this one names its "
        "algorithms)");
  }
  for (const auto* shapes : {&tally.lost, &tally.unmeasured}) {
    for (const std::string& one : *shapes) std::printf("%s\n", LinesForTerminal(one).c_str());
  }
  if (tally.untuned > 0) {
    std::printf(
        "%zu of those with cuBLASLt run what its heuristic chooses: autotuning's choice, which "
        "'warpsmith hgemm tune' and 'bench' keep in %s, is not there\n",
        tally.untuned, LinesForTerminal((DataHome() / "baselines").string()).c_str());
  }
  if (tally.changed > 0) {
    std::printf(
        "%zu kernels are built from sources other than those that were measured: verify "
        "them ('warpsmith hgemm verify --catalogue'), or leave them out with --strict\n",
        tally.changed);
  }
  for (const auto& [warning, kernels] : tally.warnings) {
    std::printf("in %zu of the kernels: %s\n", kernels, LinesForTerminal(warning).c_str());
  }
  for (const std::string& line : tally.failed) {
    std::printf("left out: %s\n", LinesForTerminal(line).c_str());
  }
}

Result<int> RunCatalogueMake(const CatalogueOptions& options) {
  const auto store = TRY(search::OpenExistingStore(options.store));
  const hgemm::Catalogue catalogue = TRY(hgemm::CatalogueOf(*store, options.run));
  if (catalogue.rows.empty()) {
    return Error{ErrorCode::kNothingMeasured,
                 options.run.empty() ? "the store has no tuned HGEMM shape"
                                     : "no run of '" + options.run + "' tuned an HGEMM shape",
                 "run 'warpsmith hgemm tune' first; 'warpsmith report' lists the runs"};
  }
  TRY(hgemm::WriteCatalogue(catalogue, options.output));
  PrintResult(options.common, options.output,
              std::to_string(catalogue.rows.size()) + " rows in " + options.output,
              "catalogue-make", {{"rows", catalogue.rows.size()}});
  return 0;
}

Result<int> RunCatalogueMerge(const CatalogueOptions& options) {
  std::vector<hgemm::Catalogue> parts;
  size_t rows = 0;
  for (const std::string& file : options.files) {
    parts.push_back(TRY(hgemm::ReadCatalogue(file)));
    rows += parts.back().rows.size();
  }
  const hgemm::Catalogue merged = hgemm::Merge(parts);
  TRY(hgemm::WriteCatalogue(merged, options.output));
  const auto compared = std::count_if(merged.rows.begin(), merged.rows.end(), [](const auto& row) {
    return row.level == hgemm::kComparedLevel;
  });
  PrintResult(options.common, options.output,
              std::to_string(merged.rows.size()) + " rows of " + std::to_string(rows) + " in " +
                  options.output + "; " + std::to_string(compared) +
                  " of them were chosen by a comparison",
              "catalogue-merge",
              {{"rows", merged.rows.size()}, {"rows_read", rows}, {"compared", compared}});
  return 0;
}

Result<int> RunCatalogueCheck(const CatalogueOptions& options) {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& file : options.files) {
    const hgemm::Catalogue catalogue = TRY(hgemm::ReadCatalogue(file));
    size_t kernels = 0, changed = 0, unknown = 0;
    for (const hgemm::CatalogueRow& row : catalogue.rows) {
      kernels += row.choice == hgemm::Choice::kKernel ? 1 : 0;
      const Result<bool> differs = hgemm::HasChanged(row);
      unknown += differs.ok() ? 0 : 1;
      changed += differs.ok() && *differs ? 1 : 0;
    }
    files.push_back({{"file", file},
                     {"rows", catalogue.rows.size()},
                     {"kernels", kernels},
                     {"changed", changed},
                     {"unknown", unknown}});
    if (!options.common.json) {
      std::printf(
          "%s: %zu rows, %zu choose kernels; %zu kernels are built otherwise now, %zu are "
          "not known here\n",
          file.c_str(), catalogue.rows.size(), kernels, changed, unknown);
    }
  }
  if (options.common.json) PrintDocument("catalogue-check", {{"files", files}});
  return 0;
}

Result<int> RunCatalogueGuard(const CatalogueOptions& options) {
  const hgemm::Catalogue catalogue = TRY(hgemm::ReadCatalogue(options.catalogue));
  if (options.bench.empty()) {
    return options.strict ? LeaveAll(catalogue, options) : ChooseAnew(catalogue, options);
  }
  const hgemm::MeasurementTable comparison = TRY(hgemm::ReadJoined(options.bench));
  hgemm::LtChoices choices;
  const auto uncompared = options.strict ? hgemm::Uncompared::kCublasLt : hgemm::Uncompared::kKeep;
  const hgemm::GuardedCatalogue guarded =
      TRY(hgemm::Guard(catalogue, comparison, uncompared,
                       [&](const hgemm::CatalogueRow& row) { return choices.PrimaryIsOwn(row); }));
  return Write(guarded, options, InWords(guarded, options.strict));
}

Result<int> RunCataloguePage(const CatalogueOptions& options) {
  const hgemm::Catalogue catalogue = TRY(hgemm::ReadCatalogue(options.catalogue));
  const auto comparison = TRY(ReadBench(options.bench));
  const std::string page = TRY(hgemm::CataloguePage(catalogue, comparison, SourcesText(options)));
  TRY(WriteFileAtomic(options.html, page));
  PrintResult(options.common, options.html,
              std::to_string(catalogue.rows.size()) + " shapes in " + options.html,
              "catalogue-page", {{"rows", catalogue.rows.size()}});
  return 0;
}

Result<int> RunHgemmBuild(const hgemm::BuildOptions& given) {
  hgemm::BuildOptions options = given;
  if (options.catalogue.empty()) {
    options.catalogue = TRY(FindShippedFile("data/hgemm/catalogue.csv")).string();
  }
  hgemm::BuildTally tally;
  const gemm_library::Pack pack = TRY(hgemm::BuildPack(options, &tally));
  const std::string bytes = TRY(gemm_library::WritePack(pack));
  TRY(CreateDirectories(options.output));
  const std::filesystem::path path = std::filesystem::path(options.output) / "gemm.wspack";
  TRY(WriteFileAtomic(path, bytes));
  PrintBuild(tally, pack, path.string(), bytes.size(), options.common.json);
  return tally.failed.empty() ? 0 : 1;
}

void AddMake(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("make", "of every shape tuned so far the kernel that is best");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("--store", options->store, "results database");
  command->add_option("--run", options->run, "of this tuning only");
  command->add_option("--out,-o", options->output, "the catalogue's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMake);
}

void AddMerge(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command =
      catalogue->add_subcommand("merge", "several catalogues as one; the surest row of each shape");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  command->add_option("--out,-o", options->output, "the merged one's file; -: stdout")->required();
  Choose(command, chosen, options, RunCatalogueMerge);
}

void AddCheck(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "check", "can it be read, and are its kernels what this program would build");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("files", options->files, "catalogues")->required()->expected(1, 10'000);
  Choose(command, chosen, options, RunCatalogueCheck);
}

void AddGuard(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "guard", "choose anew between kernel and cuBLASLt, by what 'hgemm bench' measured");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("catalogue", options->catalogue, "the one that was measured")->required();
  command
      ->add_option("--bench", options->bench,
                   "CSVs of 'hgemm bench --against --catalogue'; without: what compared rows hold")
      ->expected(1, 10'000);
  command->add_option("--out,-o", options->output, "the catalogue's file; -: stdout")->required();
  command->add_flag("--strict", options->strict,
                    "cuBLASLt for rows that were not compared: their kernels may have failed");
  Choose(command, chosen, options, RunCatalogueGuard);
}

void AddPage(CLI::App* catalogue, SelectedCommand& chosen) {
  CLI::App* command = catalogue->add_subcommand(
      "page", "which parameters won on which shapes, as one HTML page with plots");
  auto options = std::make_shared<CatalogueOptions>();
  command->add_option("catalogue", options->catalogue, "the one to draw")->required();
  command->add_option("--bench", options->bench, "CSVs of 'hgemm bench --against --catalogue'")
      ->expected(1, 10'000);
  command->add_option("--html", options->html, "the page's file")->required();
  Choose(command, chosen, options, RunCataloguePage);
}

void AddBuild(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command =
      hgemm->add_subcommand("build", "compile a catalogue's kernels into the library's pack");
  auto options = std::make_shared<hgemm::BuildOptions>();
  command->add_option("--catalogue", options->catalogue, "what to build; default: the shipped one");
  command->add_option("--out,-o", options->output, "folder for gemm.wspack")->required();
  command->add_option("--shapes", options->shapes,
                      "these, as in 512x512x512,64x128x4096, and the rows that decide for those "
                      "without a row; default: all of the catalogue");
  command->add_option("--arch", options->architecture, "build for this GPU")->capture_default_str();
  command->add_option("--for-device", options->device, "rows that were measured on this one only");
  command->add_flag("--strict", options->strict,
                    "leave out kernels whose sources are not those that were measured");
  Choose(command, chosen, options, RunHgemmBuild);
}

}  // namespace

void AddHgemmCatalogue(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* catalogue = hgemm->add_subcommand("catalogue", "which kernel each shape gets, and why");
  catalogue->require_subcommand(1);
  AddMake(catalogue, chosen);
  AddMerge(catalogue, chosen);
  AddCheck(catalogue, chosen);
  AddGuard(catalogue, chosen);
  AddPage(catalogue, chosen);
  AddBuild(hgemm, chosen);
}

}  // namespace warpsmith::cli
