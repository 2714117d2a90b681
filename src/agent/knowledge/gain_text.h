// Gains as people and models read them: old time / new time.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_GAIN_TEXT_H_
#define WARPSMITH_AGENT_KNOWLEDGE_GAIN_TEXT_H_

#include <string>

namespace warpsmith::knowledge {

std::string RatioText(double ratio);    // "1.08x"
std::string GainText(double log_gain);  // the same of exp(log_gain)

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_GAIN_TEXT_H_
