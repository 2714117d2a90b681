#include "gemm_library/pack.h"

#include <nlohmann/json.hpp>

#include "base/compression.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "hgemm/family.h"

namespace warpsmith::gemm_library {
namespace {

using nlohmann::json;

// The file: this line; the index's compressed size, 8 bytes, the least first; the index; images.
constexpr std::string_view kFirstLine = "warpsmith gemm pack, version ";
constexpr size_t kMostIndexBytes = size_t{256} << 20, kMostImageBytes = size_t{64} << 20;

Error NotAPack(std::string_view source, const std::string& what) {
  return {ErrorCode::kBadInput, "reading the pack " + std::string(source) + ": " + what,
          "make it again with 'warpsmith hgemm build'"};
}

json KernelToJson(const PackKernel& kernel, size_t offset, size_t bytes) {
  return {{"name", PointName(kernel.point)},
          {"layout", hgemm::LayoutText(kernel.layout)},
          {"dtype", Name(kernel.dtype)},
          {"plan", ToJson(kernel.plan)},
          {"offset", offset},
          {"bytes", bytes}};
}

Result<PackKernel> KernelFrom(const JsonReader& reader, std::string_view images) {
  TRY(reader.OnlyFields({"name", "layout", "dtype", "plan", "offset", "bytes"}));
  PackKernel kernel;
  kernel.point = TRY(hgemm::PointFromName(TRY(reader.At("name").String())));
  // The cost model ranks by it. What a later version added to it is none of its business.
  const Status fits_model = hgemm::CheckValues(kernel.point);
  if (!fits_model.ok()) return reader.At("name").Bad("a kernel: " + fits_model.error().message);
  const auto layout = hgemm::LayoutFromText(TRY(reader.At("layout").String()));
  if (!layout) return reader.At("layout").Bad("NN or TN");
  kernel.layout = *layout;
  const auto dtype = DTypeFromName(TRY(reader.At("dtype").String()));
  if (dtype != DType::kF16 && dtype != DType::kBF16) return reader.At("dtype").Bad("f16 or bf16");
  kernel.dtype = *dtype;
  kernel.plan = TRY(LaunchPlanFrom(reader.At("plan")));
  const Status fits = CanCarryOut(kernel.plan);
  if (!fits.ok()) return reader.At("plan").Bad(fits.error().message);
  const auto size = static_cast<int64_t>(images.size());
  const int64_t offset = TRY(reader.At("offset").IntIn(0, size));
  const int64_t bytes = TRY(reader.At("bytes").IntIn(0, size - offset));
  kernel.image = images.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes));
  return kernel;
}

// A row's kernel must be for its layout and type, or a wrong one would run. Rows that share one may
// name it with more or fewer parameters: some may be older than a parameter.
Status CheckRow(const JsonReader& reader, const hgemm::CatalogueRow& row, const PackRow& entry,
                const std::vector<PackKernel>& kernels) {
  if (entry.kernel < 0) return {};
  const PackKernel& kernel = kernels[static_cast<size_t>(entry.kernel)];
  const bool same = kernel.layout == row.problem.layout && kernel.dtype == row.problem.dtype &&
                    hgemm::IsSameKernel(kernel.point, row.kernel);
  return same ? Status() : Status(reader.Bad("the kernel that the catalogue names"));
}

Result<Pack> PackFrom(const JsonReader& reader, std::string_view images) {
  TRY(reader.OnlyFields({"architecture", "toolkit", "catalogue", "kernels", "rows"}));
  Pack pack;
  pack.architecture = TRY(reader.At("architecture").String());
  pack.toolkit = TRY(reader.At("toolkit").String());
  pack.catalogue = TRY(hgemm::ParseCatalogue("catalogue", TRY(reader.At("catalogue").String())));
  for (const JsonReader& kernel : TRY(reader.At("kernels").Items())) {
    pack.kernels.push_back(TRY(KernelFrom(kernel, images)));
  }
  const std::vector<JsonReader> rows = TRY(reader.At("rows").Items());
  if (rows.size() != pack.catalogue.rows.size()) {
    return reader.At("rows").Bad("one entry a row of the catalogue");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    TRY(rows[i].OnlyFields({"kernel", "lt"}));
    PackRow row;
    const auto last = static_cast<int64_t>(pack.kernels.size()) - 1;
    row.kernel = static_cast<int>(TRY(rows[i].At("kernel").IntIn(-1, last)));
    if (rows[i].Has("lt")) row.lt_algorithm = TRY(rows[i].At("lt").String());
    TRY(CheckRow(rows[i], pack.catalogue.rows[i], row, pack.kernels));
    pack.rows.push_back(std::move(row));
  }
  return pack;
}

std::string SizeText(uint64_t size) {
  std::string text;
  for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>((size >> shift) & 0xff);
  return text;
}

uint64_t SizeFrom(std::string_view text) {
  uint64_t size = 0;
  for (size_t i = 0; i < 8; ++i) size |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * i);
  return size;
}

}  // namespace

Status CanCarryOut(const LaunchPlan& plan) {
  for (const Operation& operation : plan.operations) {
    if (std::holds_alternative<MemsetOperation>(operation)) continue;
    const auto* launch = std::get_if<LaunchOperation>(&operation);
    if (launch == nullptr) {
      return Error{ErrorCode::kBadInput, "a plan of launches and fills only, found a copy", ""};
    }
    if (launch->arguments.size() > kMostArguments) {
      return Error{ErrorCode::kBadInput,
                   "at most " + std::to_string(kMostArguments) + " arguments a launch", ""};
    }
    for (const Argument& argument : launch->arguments) {
      if (std::holds_alternative<TableArgument>(argument)) {
        return Error{ErrorCode::kBadInput, "a plan without constant tables", ""};
      }
    }
  }
  return {};
}

Result<std::string> WritePack(const Pack& pack) {
  const std::string catalogue = TRY(hgemm::ToText(pack.catalogue));
  json index = {{"architecture", pack.architecture},
                {"toolkit", pack.toolkit},
                {"catalogue", catalogue},
                {"kernels", json::array()},
                {"rows", json::array()}};
  std::string images;
  for (const PackKernel& kernel : pack.kernels) {
    TRY(CanCarryOut(kernel.plan));
    const std::string compressed = Compress(kernel.image, 19);
    index["kernels"].push_back(KernelToJson(kernel, images.size(), compressed.size()));
    images += compressed;
  }
  for (const PackRow& row : pack.rows) {
    json entry = {{"kernel", row.kernel}};
    if (!row.lt_algorithm.empty()) entry["lt"] = row.lt_algorithm;
    index["rows"].push_back(std::move(entry));
  }
  const std::string compressed = Compress(JsonText(index), 19);
  return std::string(kFirstLine) + std::to_string(kPackVersion) + "\n" +
         SizeText(compressed.size()) + compressed + images;
}

Result<Pack> ReadPack(std::string_view source, std::string_view bytes) {
  const size_t line_end = bytes.substr(0, 64).find('\n');
  if (!bytes.starts_with(kFirstLine) || line_end == std::string_view::npos) {
    return NotAPack(source, "it does not begin like one");
  }
  const std::string_view version = bytes.substr(0, line_end).substr(kFirstLine.size());
  if (version != std::to_string(kPackVersion)) {
    Error error =
        NotAPack(source, "it is of version '" + std::string(version) +
                             "', this library reads version " + std::to_string(kPackVersion));
    error.code = ErrorCode::kVersion;
    return error;
  }
  bytes.remove_prefix(line_end + 1);
  if (bytes.size() < 8) return NotAPack(source, "it is cut off");
  const uint64_t index_bytes = SizeFrom(bytes);
  bytes.remove_prefix(8);
  if (index_bytes > bytes.size()) return NotAPack(source, "it is cut off");
  const std::string text = TRY(Decompress(source, bytes.substr(0, index_bytes), kMostIndexBytes));
  const json index = TRY(ParseJson(std::string(source) + " index", text));
  return PackFrom(JsonReader(std::string(source) + " index", index), bytes.substr(index_bytes));
}

Result<std::string> Image(const PackKernel& kernel) {
  return Decompress("kernel " + PointName(kernel.point), kernel.image, kMostImageBytes);
}

}  // namespace warpsmith::gemm_library
