#include "compile/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::compile {
namespace {

RC_GTEST_PROP(Pack, SurvivesTheTrip, (const std::vector<std::string>& items)) {
  const auto back = Unpack("test", Pack(items));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == items);
}

RC_GTEST_PROP(Pack, CutOrExtendedIsRefused, (const std::vector<std::string>& items)) {
  const std::string packed = Pack(items);
  const auto cut = *rc::gen::inRange<size_t>(0, packed.size());
  RC_ASSERT(!Unpack("test", packed.substr(0, cut)).ok());
  RC_ASSERT(!Unpack("test", packed + "x").ok());
}

RC_GTEST_PROP(Pack, AnyBytesAreReadOrRefused, (const std::string& bytes)) {
  const auto items = Unpack("test", bytes);
  if (items.ok()) RC_ASSERT(Pack(*items) == bytes);
}

}  // namespace
}  // namespace warpsmith::compile
