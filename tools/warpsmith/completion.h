// Shell completion and the manual page, made by walking the command tree: nothing to keep in step by
// hand.
#ifndef WARPSMITH_TOOLS_COMPLETION_H_
#define WARPSMITH_TOOLS_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace warpsmith::cli {

// `shell`: bash, zsh or fish.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

// For man(1): every command with its options and their defaults, and the exit statuses.
std::string ManualPage(const CLI::App& app, const std::string& version);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPLETION_H_
