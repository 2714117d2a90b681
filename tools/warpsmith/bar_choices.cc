#include "bar_choices.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/interrupt.h"
#include "call_time.h"
#include "core/provenance.h"
#include "cuda/cublaslt.h"
#include "cuda/plan/half_type.h"
#include "hgemm/comparison_table.h"
#include "hgemm_products.h"
#include "judge/baseline/choice_cache.h"
#include "judge/baseline/gemm_baseline.h"
#include "machine.h"
#include "search/slice.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr std::string_view kBarColumns = "m,n,k,dtype,mode,call,us,listed_us,tried,contest\n";

const std::vector<Mode> kBarModes = {hgemm::kComparedModes.begin(), hgemm::kComparedModes.end()};

struct Bars {
  task::HgemmShape shape;
  judge::ModeChoices choices;
};

// Of what is kept, those that serve: all modes, and of an exhaustive list where one is asked for.
Result<judge::ModeChoices> Kept(const baseline::ChoiceCache& cache, const task::HgemmShape& shape,
                                const BenchOptions& options) {
  const auto type = plan::HalfTypeOf(DTypeFromName(options.product.dtype).value());
  judge::ModeChoices kept;
  for (const Mode mode : kBarModes) {
    const baseline::ChoiceKey key{
        {baseline::GemmLibrary::kLtAuto, {}}, {shape.m, shape.n, shape.k, type}, mode};
    const auto known = TRY(cache.Find(key));
    if (known && (options.exhaustive_seconds <= 0 || known->exhaustive)) kept[mode] = *known;
  }
  return kept;
}

std::string RowsOf(const Bars& bars, const std::string& dtype) {
  std::string rows;
  for (const auto& [mode, choice] : bars.choices) {
    rows += fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{},{}{}\n", bars.shape.m, bars.shape.n,
                        bars.shape.k, dtype, Name(mode), baseline::CallOf(choice), choice.median_us,
                        choice.listed_us, choice.tried, choice.contest,
                        choice.exhaustive ? " exhaustive" : "");
  }
  return rows;
}

nlohmann::json JsonOf(const std::vector<Bars>& all) {
  nlohmann::json choices = nlohmann::json::array();
  for (const Bars& bars : all) {
    for (const auto& [mode, choice] : bars.choices) choices.push_back(baseline::ToJson(choice));
  }
  return {{"schema", "warpsmith.bar"}, {"version", 1}, {"choices", choices}};
}

Status PublishBars(const std::vector<Bars>& all, const Machine& machine,
                   const BenchOptions& options) {
  if (options.common.json) {
    std::printf("%s\n", JsonOf(all).dump(1).c_str());
    if (options.csv.empty()) return {};
  }
  std::string text = "# " + ProvenanceText(machine.info(), options.common.command) + "\n";
  text += kBarColumns;
  for (const Bars& bars : all) text += RowsOf(bars, options.product.dtype);
  if (!options.csv.empty()) return WriteFileAtomic(options.csv, text);
  std::printf("%s", text.c_str());
  return {};
}

}  // namespace

Result<int> RunChooseBar(const BenchOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<task::HgemmShape> shapes =
      search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
  Machine machine = TRY(Machine::Open(options.device));
  if (machine.local() == nullptr) {
    return Error{ErrorCode::kUnavailable, "choosing the bar needs a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  const auto cache = baseline::ChoiceCache::Default(
      {machine.info().name, machine.info().driver, TRY(cuda::CublasLtVersion())});
  judge::ChoiceRequest request{std::string(hgemm::kBar), kBarModes};
  request.exhaustive_seconds = options.exhaustive_seconds;
  const Task task = TaskOf(options.product);
  const CallTime time(options.pace);
  std::vector<Bars> all;
  size_t left = 0, chosen = 0;
  for (const task::HgemmShape& shape : shapes) {
    Bars bars{shape, TRY(Kept(cache, shape, options))};
    if (bars.choices.size() < kBarModes.size()) {
      if (Interrupted() || (chosen > 0 && time.IsLate())) {
        ++left;
        continue;
      }
      bars.choices = TRY(machine.local()->Choose(task, task::HgemmWorkload(shape), request));
      ++chosen;
    }
    if (!options.common.quiet) std::fprintf(stderr, "%s", RowsOf(bars, "").c_str());
    all.push_back(std::move(bars));
  }
  std::fprintf(stderr, "%zu shapes chosen, %zu were known, %zu are missing%s\n", chosen,
               all.size() - chosen, left, left > 0 ? "; the same command goes on with them" : "");
  TRY(PublishBars(all, machine, options));
  return Interrupted() ? Describe(ErrorCode::kInterrupted).exit_status : 0;
}

}  // namespace warpsmith::cli
