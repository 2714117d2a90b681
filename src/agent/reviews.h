// Questions about steps that have ended: why a change gained what it did, with a note for the base,
// and reasons to doubt a kernel. They are asked beside the next code, so nobody waits for them.
#ifndef WARPSMITH_AGENT_REVIEWS_H_
#define WARPSMITH_AGENT_REVIEWS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/forest.h"
#include "agent/lessons.h"
#include "agent/model_client.h"
#include "agent/prompt_writer.h"
#include "core/chat_model.h"

namespace warpsmith::agent {

class Reviews {
 public:
  Reviews(const Settings& settings, const PromptWriter& writer, Forest& forest, Lessons& lessons,
          store::RunMemos* memos)
      : settings_(settings), writer_(writer), forest_(forest), lessons_(lessons), memos_(memos) {}

  // A step that made `after` of `before` (nodes) has been measured.
  void Measured(int before, int after, const Option& option);
  // A rollout stands on the node, or it may win: is it honest?
  void Doubt(int node);

  struct Question {
    ChatRequest request;
    int before = -1, after = -1;  // of a review; a doubt has only `after`
    Option option;
  };
  // What has not been asked yet, each once.
  Result<std::vector<Question>> Take();
  // An answer that cannot be read changes nothing.
  Status Digest(const Question& question, const Answer& answer);

 private:
  Result<std::string> NotesOn(const Node& node, const Option& option);
  Status DigestReview(const Question& question, const std::string& text);
  Status DigestDoubts(const Question& question, const std::string& text);

  const Settings& settings_;
  const PromptWriter& writer_;
  Forest& forest_;
  Lessons& lessons_;
  store::RunMemos* memos_;
  std::deque<Question> waiting_;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_REVIEWS_H_
