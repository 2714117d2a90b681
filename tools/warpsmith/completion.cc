#include "completion.h"
#include "base/text.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "base/error.h"

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
    script += "    " + pattern + ") words='" + Joined(node->words, " ") + "' ;;\n";
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

// What troff would take for a request or an escape is text.
std::string Troff(const std::string& text) {
  std::string safe = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') safe += "\\e";
    if (c == '-') safe += "\\-";
    if (c == '\n') safe += "\n\\&";
    if (c != '\\' && c != '-' && c != '\n') safe += c;
  }
  return safe;
}

// A section for each command with options of its own: its description, then them.
void AppendManual(const CLI::App& app, const std::string& path, std::string& page) {
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  if (children.empty()) {
    page += ".SS " + Troff(path) + "\n" + Troff(app.get_description()) + "\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_lnames() == std::vector<std::string>{"help"}) continue;
      page += ".TP\n.B " + Troff(option->get_name(option->get_positional())) + "\n";
      page += Troff(option->get_description());
      const std::string value = option->get_default_str();
      page += (value.empty() ? "" : " (default: " + Troff(value) + ")") + "\n";
    }
  }
  for (const CLI::App* child : children) AppendManual(*child, path + " " + child->get_name(), page);
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<Node> nodes;
  Walk(app, "", nodes);
  if (shell == "fish") return FishScript(nodes);
  const std::string bash = BashScript(nodes);
  return shell == "bash" ? bash : "autoload -U +X bashcompinit && bashcompinit\n" + bash;
}

std::string ManualPage(const CLI::App& app, const std::string& version) {
  std::string page = ".TH WARPSMITH 1 \"\" \"" + Troff(version) +
                     "\" \"User Commands\"\n.SH NAME\n" +
                     "warpsmith \\- makes CUDA kernels faster and proves it\n" +
                     ".SH SYNOPSIS\n.B warpsmith\n.I COMMAND\n[options]\n.SH COMMANDS\n";
  AppendManual(app, "warpsmith", page);
  page += ".SH EXIT STATUS\n.TP\n0\ndone; the answer is yes\n";
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    page +=
        ".TP\n" + std::to_string(row.exit_status) + "\n" + Troff(std::string(row.meaning)) + "\n";
  }
  return page;
}

}  // namespace warpsmith::cli
