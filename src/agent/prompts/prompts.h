// The prompts that the program carries, checked against the variables that it can fill.
#ifndef WARPSMITH_AGENT_PROMPTS_PROMPTS_H_
#define WARPSMITH_AGENT_PROMPTS_PROMPTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"

namespace warpsmith::prompts {

// --- A prompt as a text file with {{variables}}, and what becomes of it when they have values.
//
// A file begins with "version: N" and a line of three dashes; the text follows. A template is read
// once into pieces, so what a value holds is never looked at for variables: values stay data.

// How far a value is trusted, which decides how it is written down.
enum class ValueKind : uint8_t {
  kLine,    // one line; control characters become '?', backquotes become quotes, long text is cut
  kText,    // our own words and blocks that were made safe before; written as they are
  kFenced,  // foreign text: in a fence longer than any run of backquotes in it, on lines of its own
};

struct Variable {
  std::string_view name;
  ValueKind kind = ValueKind::kLine;
  std::string_view meaning;
};

struct Piece {
  std::string text;                   // literal, or empty where `variable` is set
  std::string variable;               // empty: literal
  ValueKind kind = ValueKind::kLine;  // of the variable
};

struct PromptTemplate {
  std::string name;
  int version = 0;
  std::vector<Piece> pieces;
};

// kBadInput for a missing version, a variable that is not among `known`, a brace pair that is no
// variable, or a fenced variable that does not stand on a line of its own.
Result<PromptTemplate> ParseTemplate(std::string_view name, std::string_view file,
                                     std::span<const Variable> known);

// Names of the variables, each once, sorted.
std::vector<std::string> VariablesOf(const PromptTemplate& prompt);

using Values = std::map<std::string, std::string, std::less<>>;

inline constexpr size_t kMaxFencedBytes = size_t{1} << 20;  // longer values lose their middle

// kInternal when a variable has no value or a value no variable: a bug of the caller's.
Result<std::string> Render(const PromptTemplate& prompt, const Values& values);

// The text in a fence that it cannot close, UTF-8 throughout, with a newline at its end.
std::string Fenced(std::string_view text);

enum class PromptId : uint8_t {
  kBootstrap,         // a first correct kernel from the reference
  kStateExtractor,    // what holds the kernels back, where the rules are unsure
  kLowering,          // a technique becomes code
  kOwnIdea,           // the model chooses what to change
  kImprove,           // code and profile, nothing else: the minimal agent
  kContrastive,       // variants with their scores become a better one
  kRepair,            // a compiler's log or a wrong answer becomes mended code
  kStepReview,        // expected against measured, why, and one note
  kSoftVerification,  // reasons to doubt; never an approval
  kReplyKernel,       // parts: the reply's format for each form, and for edits
  kReplyProgram,
  kReplyEdits,
  // Behind those whose versions every run of the agent records: asked where a task is split.
  kSplit,  // a task becomes parts with references of their own
  kJoin,   // the parts' kernels become a first kernel of the whole
  // More parts of the reply's format:
  kReplyKeptPlan,       // the plan shown may stay
  kReplyNames,          // what files are called where no code is shown
  kReplyConfiguration,  // of a kernel family, in place of code
};

class Prompts {
 public:
  // kBadInput when a file is missing or malformed, names a variable that is not in the table of
  // prompts.cc, or when no file uses one that is. Files that no PromptId names are left alone.
  static Result<Prompts> Load(std::span<const EmbeddedFile> files);
  // Those inside the program. They are tested: an error is a bug, and aborts.
  static const Prompts& Embedded();

  const PromptTemplate& Get(PromptId id) const { return prompts_.at(id); }

 private:
  std::map<PromptId, PromptTemplate> prompts_;
};

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_PROMPTS_H_
