#include "completion.h"

#include <CLI/CLI.hpp>
#include <vector>

namespace warpsmith::cli {
namespace {

// One node of the command tree: "hgemm tune" and the words that may follow it.
struct Node {
  std::string path;  // words after "warpsmith"
  std::vector<std::string> words;
};

void Walk(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  Node node{path, {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) node.words.push_back("--" + name);
  }
  std::vector<const CLI::App*> children = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* child : children) node.words.push_back(child->get_name());
  nodes.push_back(node);
  for (const CLI::App* child : children) {
    Walk(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), nodes);
  }
}

std::string Join(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// The command words typed so far pick the case; options in between are skipped.
std::string BashScript(const std::vector<Node>& nodes) {
  std::string script =
      "_warpsmith() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path= word words\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    [[ $word == -* ]] || path=\"${path:+$path }$word\"\n"
      "  done\n"
      "  case \"$path\" in\n";
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const std::string pattern = node->path.empty() ? "*" : "\"" + node->path + "\"*";
    script += "    " + pattern + ") words='" + Join(node->words) + "' ;;\n";
  }
  return script +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\"))\n"
         "}\n"
         "complete -o filenames -F _warpsmith warpsmith\n";
}

std::string FishScript(const std::vector<Node>& nodes) {
  std::string script;
  for (const Node& node : nodes) {
    const std::string condition =
        node.path.empty()
            ? "__fish_use_subcommand"
            : "__fish_seen_subcommand_from " +
                  node.path.substr(
                      node.path.rfind(' ') == std::string::npos ? 0 : node.path.rfind(' ') + 1);
    for (const std::string& word : node.words) {
      script += "complete -c warpsmith -n '" + condition + "' ";
      script += word.starts_with("--") ? "-l " + word.substr(2) : "-a " + word;
      script += "\n";
    }
  }
  return script;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<Node> nodes;
  Walk(app, "", nodes);
  if (shell == "fish") return FishScript(nodes);
  const std::string bash = BashScript(nodes);
  return shell == "bash" ? bash : "autoload -U +X bashcompinit && bashcompinit\n" + bash;
}

}  // namespace warpsmith::cli
