#include "agent/knowledge/gain_text.h"

#include <cmath>
#include <cstdio>

namespace warpsmith::knowledge {

std::string RatioText(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3gx", ratio);
  return text;
}

std::string GainText(double log_gain) { return RatioText(std::exp(log_gain)); }

}  // namespace warpsmith::knowledge
