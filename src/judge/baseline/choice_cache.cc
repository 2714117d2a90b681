#include "judge/baseline/choice_cache.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "base/text.h"
#include "judge/baseline/contest.h"

namespace warpsmith::baseline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kSchema = "warpsmith.baseline-cache";
constexpr std::chrono::seconds kLockPatience{10};

json EmptyCache(const ChoiceSite& site) {
  return {{"schema", kSchema},     {"version", kChoiceCacheVersion}, {"device", site.device},
          {"driver", site.driver}, {"library", site.library},        {"choices", json::object()}};
}

Status CheckHeader(const JsonReader& reader, const ChoiceSite& site) {
  TRY(reader.OnlyFields({"schema", "version", "device", "driver", "library", "choices"}));
  if (TRY(reader.At("schema").String()) != kSchema) {
    return reader.At("schema").Bad("\"" + std::string(kSchema) + "\"");
  }
  if (TRY(reader.At("version").Int()) != kChoiceCacheVersion) {
    Error error = reader.At("version").Bad("version " + std::to_string(kChoiceCacheVersion));
    error.code = ErrorCode::kVersion;
    error.fix = "remove the file: it is made again by the next tuning";
    return error;
  }
  for (const auto& [field, wanted] :
       {std::pair("device", &site.device), {"driver", &site.driver}, {"library", &site.library}}) {
    if (TRY(reader.At(field).String()) != *wanted) {
      return reader.At(field).Bad("'" + *wanted + "', which the file's name stands for");
    }
  }
  TRY(reader.At("choices").Fields());
  return {};
}

// The whole file, checked; an empty cache where there is none.
Result<json> Load(const fs::path& path, const ChoiceSite& site) {
  std::error_code failure;
  if (!fs::exists(path, failure)) return EmptyCache(site);
  json cache = TRY(ParseJson(path.string(), TRY(ReadFile(path))));
  TRY(CheckHeader(JsonReader(path.string(), cache), site));
  return cache;
}

Result<std::optional<GemmBaselineChoice>> FindIn(const fs::path& path, const ChoiceSite& site,
                                                 const ChoiceKey& key) {
  const json cache = TRY(Load(path, site));
  const JsonReader choices = JsonReader(path.string(), cache).At("choices");
  if (!choices.Has(Text(key))) return std::optional<GemmBaselineChoice>();
  GemmBaselineChoice choice = TRY(GemmBaselineChoiceFrom(choices.At(Text(key))));
  if (choice.contest != ContestId()) return std::optional<GemmBaselineChoice>();
  return std::optional(std::move(choice));
}

}  // namespace

std::string Text(const ChoiceKey& key) {
  const GemmProblem& p = key.problem;
  return Text(key.name) + " " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
         std::to_string(p.k) + " " + std::string(Name(key.mode)) +
         (p.type == cuda::HalfType::kF16 ? "" : " " + std::string(Text(p.type)));
}

std::string FileNameOf(const ChoiceSite& site) {
  const std::string full = site.device + "|" + site.driver + "|" + site.library;
  const std::string readable =
      PlainText(site.device + "-" + site.driver + "-" + site.library, ".-", '_');
  return readable.substr(0, 120) + "-" + Sha256Hex(full).substr(0, 8) + ".json";
}

ChoiceCache::ChoiceCache(fs::path folder, ChoiceSite site, std::optional<fs::path> shipped)
    : folder_(std::move(folder)), site_(std::move(site)), shipped_(std::move(shipped)) {}

ChoiceCache ChoiceCache::Default(ChoiceSite site) {
  const Result<fs::path> shipped = FindShippedFile("data/baselines");
  return ChoiceCache(DataHome() / "baselines", std::move(site),
                     shipped.ok() ? std::optional(*shipped) : std::nullopt);
}

Result<std::optional<GemmBaselineChoice>> ChoiceCache::Find(const ChoiceKey& key) const {
  const std::string file = FileNameOf(site_);
  const std::optional<GemmBaselineChoice> own = TRY(FindIn(folder_ / file, site_, key));
  if (own || !shipped_) return own;
  return FindIn(*shipped_ / file, site_, key);
}

Result<std::map<std::string, GemmBaselineChoice>> ChoiceCache::All() const {
  const std::string file = FileNameOf(site_);
  std::map<std::string, GemmBaselineChoice> all;
  std::vector<fs::path> paths = {folder_ / file};
  if (shipped_) paths.push_back(*shipped_ / file);
  for (const fs::path& path : paths) {
    const json cache = TRY(Load(path, site_));
    const JsonReader choices = JsonReader(path.string(), cache).At("choices");
    for (const auto& [key, value] : cache.at("choices").items()) {
      auto choice = GemmBaselineChoiceFrom(choices.At(key));
      if (choice.ok()) all.emplace(key, *std::move(choice));
    }
  }
  return all;
}

Status ChoiceCache::Put(std::span<const GemmBaselineChoice> choices) const {
  TRY(CreateDirectories(folder_));
  const fs::path path = folder_ / FileNameOf(site_);
  const FileLock lock =
      TRY(FileLock::Acquire(path.string() + ".lock", "the baseline cache", kLockPatience));
  json cache = TRY(Load(path, site_));
  for (const GemmBaselineChoice& choice : choices) {
    const cuda::GemmShape& shape = choice.shape;
    const ChoiceKey key{choice.name, {shape.m, shape.n, shape.k, shape.type}, choice.mode};
    cache["choices"][Text(key)] = ToJson(choice);
  }
  return WriteFileAtomic(path, JsonText(cache, 1) + "\n");
}

}  // namespace warpsmith::baseline
