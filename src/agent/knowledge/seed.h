// The base that every new one begins with: states named after our bottlenecks, and techniques from
// CUDA's public documentation in our own words, with guesses at what they gain. No outcome in it.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_SEED_H_
#define WARPSMITH_AGENT_KNOWLEDGE_SEED_H_

#include <string_view>

#include "agent/knowledge/contents.h"

namespace warpsmith::knowledge {

std::string_view SeedText();  // data/knowledge/seed.jsonl, embedded
Contents Seed();

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_SEED_H_
