#include "agent/knowledge/seed.h"

#include "agent/knowledge/knowledge_text.h"
#include "embedded/knowledge_seed.h"

namespace warpsmith::knowledge {

std::string_view SeedText() { return embedded::KnowledgeSeed().front().contents; }

Contents Seed() {
  Result<Contents> seed = ContentsFromText("seed.jsonl", SeedText());
  CHECK(seed.ok());
  return std::move(seed).value();
}

}  // namespace warpsmith::knowledge
