#include "hgemm/bench/primary_choices.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "cuda/cublaslt.h"
#include "cuda/plan/half_type.h"
#include "hgemm/measurement_table.h"
#include "judge/baseline/choice_cache.h"
#include "search/call_time.h"

namespace warpsmith::hgemm {
namespace {

const std::vector<Mode> kPrimaryModes = {kComparedModes.begin(), kComparedModes.end()};

cuda::GemmLayout LayoutOf(const CatalogueRow& row) {
  return row.problem.layout == Layout::kNN ? cuda::GemmLayout::kNN : cuda::GemmLayout::kTN;
}

// Of what is kept, those that serve: all modes, and of an exhaustive list where one is asked for.
Result<judge::ModeChoices> Kept(const baseline::ChoiceCache& cache, const task::HgemmShape& shape,
                                const BenchOptions& options) {
  const auto type = plan::HalfTypeOf(DTypeFromName(options.product.dtype).value());
  judge::ModeChoices kept;
  for (const Mode mode : kPrimaryModes) {
    const baseline::ChoiceKey key{
        {baseline::GemmLibrary::kLtAuto, {}}, {shape.m, shape.n, shape.k, type}, mode};
    const auto known = TRY(cache.Find(key));
    if (known && (options.exhaustive_seconds <= 0 || known->exhaustive)) kept[mode] = *known;
  }
  return kept;
}

}  // namespace

std::string RowsOf(const Primaries& primaries, const std::string& dtype) {
  std::string rows;
  for (const auto& [mode, choice] : primaries.choices) {
    rows += fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{},{}{}\n", primaries.shape.m,
                        primaries.shape.n, primaries.shape.k, dtype, warpsmith::Name(mode),
                        baseline::CallOf(choice), choice.median_us, choice.listed_us, choice.tried,
                        choice.contest, choice.exhaustive ? " exhaustive" : "");
  }
  return rows;
}

nlohmann::json JsonOf(const std::vector<Primaries>& all) {
  nlohmann::json choices = nlohmann::json::array();
  for (const Primaries& primaries : all) {
    for (const auto& [mode, choice] : primaries.choices)
      choices.push_back(baseline::ToJson(choice));
  }
  return {{"schema", "warpsmith.bar"}, {"version", 1}, {"choices", choices}};
}

Result<std::vector<Primaries>> ChoosePrimaries(search::Machine& machine,
                                               const BenchOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> shapes =
      search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
  const std::string cublaslt = TRY(cuda::CublasLtVersion());
  const auto cache =
      baseline::ChoiceCache::Default({machine.info().name, machine.info().driver, cublaslt});
  judge::ChoiceRequest request{std::string(kPrimary), kPrimaryModes};
  request.exhaustive_seconds = options.exhaustive_seconds;
  const Task task = TaskOf(options.product);
  const search::CallTime time(options.pace);
  std::vector<Primaries> all;
  size_t left = 0, chosen = 0;
  for (const task::HgemmShape& shape : shapes) {
    Primaries primaries{shape, TRY(Kept(cache, shape, options))};
    if (primaries.choices.size() < kPrimaryModes.size()) {
      if (Interrupted() || (chosen > 0 && time.IsLate())) {
        ++left;
        continue;
      }
      primaries.choices = TRY(machine.local()->Choose(task, task::HgemmWorkload(shape), request));
      ++chosen;
    }
    if (!options.common.quiet) std::fprintf(stderr, "%s", RowsOf(primaries, "").c_str());
    all.push_back(std::move(primaries));
  }
  std::fprintf(stderr, "%zu shapes chosen, %zu were known, %zu are missing%s\n", chosen,
               all.size() - chosen, left, left > 0 ? "; the same command goes on with them" : "");
  return all;
}

const baseline::GemmBaselineChoice* LtChoices::Find(const CatalogueRow& row, bool of_its_layout) {
  const auto [site, is_new] = of_site_.try_emplace({row.device, row.driver, row.library});
  if (is_new) {
    auto all = baseline::ChoiceCache::Default({row.device, row.driver, row.library}).All();
    if (all.ok()) site->second = *std::move(all);
  }
  const Problem& p = row.problem;
  const auto layout = of_its_layout ? std::optional(LayoutOf(row)) : std::nullopt;
  const baseline::ChoiceKey key{{baseline::GemmLibrary::kLtAuto, layout},
                                {p.m, p.n, p.k, plan::HalfTypeOf(p.dtype)}};
  const auto found = site->second.find(Text(key));
  return found == site->second.end() ? nullptr : &found->second;
}

std::string LtChoices::AlgorithmOf(const CatalogueRow& row) {
  for (const bool of_its_layout : {true, false}) {
    const baseline::GemmBaselineChoice* choice = Find(row, of_its_layout);
    if (choice == nullptr || choice->shape.layout != LayoutOf(row)) continue;
    if (choice->algorithm) return cuda::ToHex(*choice->algorithm);
  }
  return "";
}

bool LtChoices::PrimaryIsOwn(const CatalogueRow& row) {
  const baseline::GemmBaselineChoice* choice = Find(row, false);
  return choice != nullptr && choice->algorithm && choice->shape.layout == LayoutOf(row);
}

}  // namespace warpsmith::hgemm
