#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "base/display_text.h"
#include "base/file.h"
#include "base/text.h"
#include "command_tree.h"
#include "commands.h"
#include "core/serialize.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/options.h"
#include "hgemm/bench/pack_builder.h"
#include "hgemm/catalogue.h"
#include "hgemm/cost_model.h"
#include "hgemm/table_text.h"
#include "search/machine/machine.h"
#include "store/verdict_parts.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

struct FeaturesOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  bool candidates = false;  // the kernels themselves instead
};

struct ShowOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::vector<std::string> shapes;
  hgemm::ProductOptions product;
  std::string catalogue;  // where the shape's kernel is looked up; empty: the shipped one
  int top = 10;
};

struct Asked {
  hgemm::Problem problem;
  Point point;
};

Result<Asked> AskedIn(const std::string& line) {
  std::istringstream words(line);
  std::string sizes, layout_name, kernel;
  words >> sizes >> layout_name >> std::ws;
  std::getline(words, kernel);
  const task::HgemmShape shape = TRY(task::ParseHgemmShape(sizes));
  const auto layout = hgemm::LayoutFromText(layout_name);
  if (!layout) {
    return Error{ErrorCode::kBadInput, "expected a layout, found '" + layout_name + "'",
                 "write NN or TN"};
  }
  Asked asked{{shape.m, shape.n, shape.k, *layout}, TRY(hgemm::PointFromName(kernel))};
  TRY(hgemm::CheckPoint(asked.point));
  return asked;
}

void PrintFeatures(const Asked& asked, const hgemm::Target& target) {
  std::string row;
  for (const float value : hgemm::FeaturesOf(asked.problem, target, asked.point)) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", static_cast<double>(value));  // the float, exactly
    row += (row.empty() ? "" : ",") + std::string(number);
  }
  std::puts(row.c_str());
}

// Lines {"source":SHA256,"text":...} for each source once, then {"candidate":[0,LINE],"body":...}
// as in a recording, or {"candidate":[0,LINE],"body":null} where the kernel is outside of what its
// family can do for the problem.
Status PrintCandidate(const Asked& asked, const hgemm::Target& target, int number,
                      std::set<std::string>& printed) {
  const std::string head = "{\"candidate\":[0," + std::to_string(number) + "],\"body\":";
  if (!hgemm::IsLegal(asked.problem, target, asked.point)) {
    std::puts((head + "null}").c_str());
    return {};
  }
  const Candidate candidate =
      TRY(hgemm::MakeCandidate(asked.problem, hgemm::WithAllParameters(asked.point)));
  const store::CandidateText text = store::TextOf(candidate);
  for (const auto& [path, sha256] : text.sources) {
    if (!printed.insert(sha256).second) continue;
    const nlohmann::json source = candidate.sources.at(path);
    std::puts(("{\"source\":\"" + sha256 + "\",\"text\":" + source.dump() + "}").c_str());
  }
  std::puts((head + text.body + "}").c_str());
  return {};
}

// What is known of a shape without a recording or a GPU: the catalogue's row of any device, or what
// the library does where there is none.
struct Choice {
  std::optional<hgemm::CatalogueRow> row;
  std::string library;     // empty: there is a row, or no catalogue
  bool is_kernel = false;  // of ours; else cuBLASLt's
  std::string file;        // the shipped catalogue that says so
  nlohmann::json means;    // of a shipped row: what several passes say together; null: nothing
};

// What tools/study/passes.py wrote beside a shipped catalogue: {"passes": 3, "device": {"ratio":
// 1.160, "low": 1.116, "high": 1.206}, ...}. A row has a cell "1.160 3.9" a column: the ratio, and
// its 99 % interval's distance in per cent.
nlohmann::json MeansOf(const std::filesystem::path& catalogue, const task::HgemmShape& shape) {
  const auto text =
      ReadFile(catalogue.parent_path() / ("means_of_" + catalogue.filename().string()));
  if (!text.ok()) return nullptr;
  std::vector<std::string_view> columns;
  const std::string key = fmt::format("{},{},{},", shape.m, shape.n, shape.k);
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with("m,n,k,")) columns = Split(line, ',');
    if (!line.starts_with(key)) continue;
    const std::vector<std::string_view> cells = Split(line, ',');
    nlohmann::json means;
    for (size_t i = 3; i < std::min(cells.size(), columns.size()); ++i) {
      const std::vector<std::string_view> words = Split(cells[i], ' ');
      const auto ratio = hgemm::NumberOf<double>(words[0]);
      const auto off = hgemm::NumberOf<double>(words.back());
      if (!ratio || !off) continue;
      means[std::string(columns[i])] = {{"ratio", *ratio},
                                        {"low", *ratio / (1 + *off / 100)},
                                        {"high", *ratio * (1 + *off / 100)}};
      if (columns[i] == "passes") means["passes"] = static_cast<int>(*ratio);
    }
    return means;
  }
  return nullptr;
}

Result<Choice> ChoiceFor(const ShowOptions& options, const task::HgemmShape& shape,
                         const hgemm::Target& target) {
  const hgemm::Problem problem =
      search::ProblemOf(hgemm::TaskOf(options.product), task::HgemmWorkload(shape));
  const bool shipped = options.catalogue.empty();
  std::string file = shipped ? hgemm::ShippedCatalogueFile(problem) : "";
  if (shipped && file.empty()) return Choice();
  const hgemm::Catalogue catalogue = TRY(hgemm::ReadCatalogue(shipped ? file : options.catalogue));
  const hgemm::CatalogueRow* row = hgemm::Find(catalogue, problem);
  hgemm::Catalogue more;
  const auto off_grid = FindShippedFile("data/hgemm/catalogue_offgrid.csv");
  if (row == nullptr && shipped && off_grid.ok()) {
    more = TRY(hgemm::ReadCatalogue(off_grid->string()));
    row = hgemm::Find(more, problem);
    if (row != nullptr) file = off_grid->string();
  }
  if (row != nullptr) {
    return Choice{*row, "", row->choice == hgemm::Choice::kKernel, file,
                  shipped ? MeansOf(file, shape) : nullptr};
  }
  auto [chosen, text] = hgemm::LibraryChoice(catalogue, problem, target);
  return Choice{std::nullopt, std::move(text), !chosen.kernels.empty(), file, nullptr};
}

nlohmann::json ToJson(const hgemm::CatalogueRow& row) {
  nlohmann::json results = nlohmann::json::array();
  for (const hgemm::CatalogueResult& result : row.results) {
    results.push_back({{"mode", Name(result.mode)},
                       {"baseline", result.baseline},
                       {"kernel_us", result.kernel_us},
                       {"baseline_us", result.baseline_us},
                       {"ratio", result.ratio},
                       {"low", result.interval.lo},
                       {"high", result.interval.hi}});
  }
  return {{"choice", Name(row.choice)}, {"point", warpsmith::ToJson(row.kernel)},
          {"candidate", row.candidate}, {"plan", row.plan_id},
          {"artifact", row.artifact},   {"results", results},
          {"device", row.device},       {"driver", row.driver},
          {"toolkit", row.toolkit},     {"library", row.library},
          {"level", row.level},         {"date", row.date}};
}

// Of one shape: what runs there.
nlohmann::json ChoiceJson(const ShowOptions& options, const task::HgemmShape& shape,
                          const Choice& choice) {
  nlohmann::json document = {{"shape", task::Name(shape)},
                             {"layout", options.product.layout},
                             {"dtype", options.product.dtype}};
  if (choice.row) document["catalogue"] = ToJson(*choice.row);
  if (!choice.means.is_null()) document["means"] = choice.means;
  if (!choice.library.empty()) document["library"] = choice.library;
  return document;
}

void PrintSpace(const std::string& space, const std::vector<hgemm::KnownPoint>& rows,
                nlohmann::json document) {
  nlohmann::json list = nlohmann::json::array();
  for (const hgemm::KnownPoint& row : rows) {
    nlohmann::json entry = {{"point", warpsmith::ToJson(row.point)},
                            {"predicted_us", row.predicted_us},
                            {"outcome", row.outcome}};
    if (row.measured_us) entry["measured_us"] = *row.measured_us;
    if (row.ratio) entry["ratio"] = *row.ratio;
    list.push_back(std::move(entry));
  }
  document["space"] = space;
  document["points"] = std::move(list);
  PrintDocument("space", std::move(document));
}

std::string MeanText(const nlohmann::json& means, const char* column) {
  if (!means.contains(column)) return "";
  const nlohmann::json& mean = means[column];
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", mean["ratio"].get<double>(),
                     mean["low"].get<double>(), mean["high"].get<double>());
}

// What stands between a row's first line and its evidence.
std::string MeansText(const nlohmann::json& means) {
  std::string text;
  for (const char* mode : {"device", "device-cold", "offline", "server"}) {
    if (!means.contains(mode)) continue;
    text += fmt::format("    {:<12} {}\n", mode, MeanText(means, mode));
  }
  if (!text.empty()) {
    text =
        fmt::format("  the library, mean of its passes ({}):\n", means.value("passes", 0)) + text;
  }
  return text +
         "  the kernel without launch overlap, device: " + MeanText(means, "without overlap") +
         "\n  the pass that decided:\n";
}

void PrintChoice(const Choice& choice) {
  if (!choice.row && choice.library.empty()) return;
  std::string text = choice.row ? hgemm::Explain(*choice.row) : choice.library + "\n";
  if (!choice.means.is_null()) {
    size_t at = text.find('\n') + 1;
    if (choice.row->choice == hgemm::Choice::kCublasLt) at = text.find('\n', at) + 1;
    text.insert(at, MeansText(choice.means));
  }
  if (choice.row) {
    text +=
        "  ratio: the other's time over ours [99 % interval]; device: CUDA graph, hot L2; "
        "device-cold: cold L2; offline: back to back; server: single calls\n";
  }
  const bool is_default = choice.file.ends_with("/catalogue.csv");
  if (!choice.file.empty()) text += "  by " + choice.file;
  if (!choice.file.empty() && choice.is_kernel) {
    text += ", which 'warpsmith hgemm build" +
            (is_default ? std::string() : " --catalogue " + choice.file) + " --out DIR' compiles";
  }
  if (!choice.file.empty()) text += "\n";
  std::printf("%s%s", LinesForTerminal(text).c_str(), choice.row ? "\n" : "");
}

Result<int> ListSpaces(search::Machine& machine, bool json) {
  if (machine.recorded() == nullptr) {
    return Error{ErrorCode::kUsage, "no shape was given, and a GPU has a space for every shape",
                 "write one, as in 512x4096x1024, or list a recording with --device recorded"};
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const store::ReplaySpace& space : machine.recorded()->Spaces()) {
    rows.push_back({{"space", space.space.name()},
                    {"shape", space.workload.name},
                    {"layout", task::LayoutOf(space.task)},
                    {"dtype", Name(task::DTypeOf(space.task))},
                    {"configurations", space.space.size()},
                    {"verdicts", space.verdicts}});
    if (!json) {
      std::printf("%-20s %-4s %-4s %6zu configurations, %6ld verdicts\n",
                  space.workload.name.c_str(), task::LayoutOf(space.task).c_str(),
                  std::string(Name(task::DTypeOf(space.task))).c_str(), space.space.size(),
                  static_cast<long>(space.verdicts));
    }
  }
  if (json) PrintDocument("spaces", {{"origin", machine.info().origin}, {"spaces", rows}});
  return 0;
}

Result<int> RunHgemmFeatures(const FeaturesOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  const hgemm::Target target = hgemm::TargetOf(machine.info());
  if (!options.candidates) std::puts(Joined(hgemm::FeatureNames(), ",").c_str());
  std::set<std::string> printed;
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    const auto asked = AskedIn(line);
    Status done = asked.ok() ? Status() : Status(asked.error());
    if (asked.ok() && options.candidates) done = PrintCandidate(*asked, target, number, printed);
    if (asked.ok() && !options.candidates) PrintFeatures(*asked, target);
    if (done.ok()) continue;
    Error error = done.error();
    error.message = "stdin, line " + std::to_string(number) + ": " + error.message;
    return error;
  }
  return 0;
}

Result<int> RunHgemmShow(const ShowOptions& options) {
  std::vector<task::HgemmShape> shapes;
  if (!options.shapes.empty()) {
    shapes = TRY(task::ParseHgemmShapes(Joined(options.shapes, ",")));
  }
  search::Machine machine = TRY(search::Machine::Open(options.device));
  if (shapes.empty()) return ListSpaces(machine, options.common.json);
  if (shapes.size() > 1) {
    nlohmann::json list = nlohmann::json::array();
    for (const task::HgemmShape& one : shapes) {
      const Choice choice = TRY(ChoiceFor(options, one, hgemm::TargetOf(machine.info())));
      list.push_back(ChoiceJson(options, one, choice));
      if (!options.common.json) PrintChoice(choice);
    }
    if (options.common.json) PrintDocument("shapes", {{"shapes", list}});
    return 0;
  }
  const task::HgemmShape& shape = shapes.front();
  const Choice choice = TRY(ChoiceFor(options, shape, hgemm::TargetOf(machine.info())));
  auto search =
      search::HgemmSearch(machine, hgemm::TaskOf(options.product), task::HgemmWorkload(shape));
  if (!options.common.json) PrintChoice(choice);
  // The shape need not have been recorded.
  const bool is_known = choice.row || !choice.library.empty();
  if (!search.ok() && is_known && search.error().code == ErrorCode::kNotRecorded) {
    if (options.common.json) PrintSpace("", {}, ChoiceJson(options, shape, choice));
    return 0;
  }
  const search::SearchJob job = TRY(std::move(search));
  std::vector<hgemm::KnownPoint> rows = TRY(hgemm::KnownPoints(machine, job));
  const auto measured = std::count_if(
      rows.begin(), rows.end(), [](const hgemm::KnownPoint& row) { return !row.outcome.empty(); });
  if (options.top > 0 && rows.size() > static_cast<size_t>(options.top)) rows.resize(options.top);
  if (options.common.json) {
    PrintSpace(job.space.name(), rows, ChoiceJson(options, shape, choice));
    return 0;
  }
  if (choice.row && machine.recorded() != nullptr) {
    std::puts("a recorded search, whose kernels are not the row's above:");
  }
  std::printf("%s: %zu configurations, %ld measured\n%s\n\n", job.space.name().c_str(),
              job.space.size(), static_cast<long>(measured), machine.notice().c_str());
  std::printf("%10s %10s %7s  %-10s %s\n", "predicted", "measured", "ratio", "verdict", "point");
  for (const hgemm::KnownPoint& row : rows) {
    std::printf("%8.2fus ", row.predicted_us);
    row.measured_us ? std::printf("%8.2fus ", *row.measured_us) : std::printf("%10s ", "-");
    row.ratio ? std::printf("%6.3fx ", *row.ratio) : std::printf("%7s ", "-");
    std::printf(" %-10s %s\n", row.outcome.empty() ? "-" : row.outcome.c_str(),
                PointName(row.point).c_str());
  }
  return 0;
}

}  // namespace

void AddHgemmShow(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand("show", "the space of a shape and what is known of it");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("shapes", options->shapes,
                      "MxNxK; more: only what each runs; none: list the recorded spaces");
  AddProduct(command, options->product);
  command->add_option("--catalogue", options->catalogue,
                      "why the shape got its kernel, from here; default: the shipped one");
  command->add_option("--top", options->top, "rows; 0: all")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunHgemmShow);
}

void AddHgemmFeatures(CLI::App* hgemm, SelectedCommand& chosen) {
  CLI::App* command = hgemm->add_subcommand(
      "features", "what the cost model sees of kernels: lines of stdin, as CSV on stdout");
  auto options = std::make_shared<FeaturesOptions>();
  AddDevice(command, options->device);
  command->add_flag("--candidates", options->candidates,
                    "the kernels' sources and plans instead, as lines of a recording");
  command->footer("A line is MxNxK, NN or TN, and the kernel: 512x512x512 TN wgmma tile_m=64");
  Choose(command, chosen, options, RunHgemmFeatures);
}

}  // namespace warpsmith::cli
