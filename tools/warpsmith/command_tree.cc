#include "command_tree.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::cli {

std::string CheckSeconds(const std::string& text) {
  double seconds = -1;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc() && parsed == end && std::isfinite(seconds) && seconds >= 0) return "";
  return "'" + text + "': expected a number of seconds from 0";
}

std::string CheckWholeNumber(const std::string& text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() ? "" : "'" + text + "': expected a whole number from 0";
}

std::string CheckFailOn(const std::string& text) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view condition = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (condition != "regression" && condition != "incorrect" && condition != "never") {
      return "'" + std::string(condition) +
             "': expected regression, incorrect or never, separated by commas";
    }
  }
  return "";
}

std::string CheckOutputFile(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) {
    return "'" + path + "': there is no folder " + folder.string();
  }
  return std::filesystem::is_directory(file, none) ? "'" + path + "' is a folder" : "";
}

bool AsksForJson(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* argument) { return std::string_view(argument) == "--json"; });
}

std::string CheckIsUtf8(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (!IsUtf8(argv[i])) {
      return "argument " + std::to_string(i) + " is not UTF-8: '" + ValidUtf8(argv[i]) + "'";
    }
  }
  return "";
}

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
