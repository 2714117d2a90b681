#include "hgemm/device_source.h"

#include "base/result.h"
#include "embedded/hgemm_device_sources.h"

namespace warpsmith::hgemm {
namespace {

std::string_view Contents(std::string_view name) {
  for (const EmbeddedFile& file : embedded::HgemmDeviceSources()) {
    if (file.path.substr(file.path.rfind('/') + 1) == name) return file.contents;
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> DeviceSources(std::initializer_list<std::string_view> names) {
  std::map<std::string, std::string> sources;
  for (const std::string_view name : names) {
    const std::string_view contents = Contents(name);
    CHECK(!contents.empty());
    sources.emplace(name, contents);
  }
  return sources;
}

}  // namespace warpsmith::hgemm
