#include "cli/commands/completion.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands/command.h"

namespace capstan::cli {
namespace {

using Word = std::pair<std::string, std::string>;  // A word, and what it is for.

// A command, its place ("" for `capstan` itself, "/config/check"), and what may follow it.
struct Node {
  std::string place;
  std::vector<Word> commands;
  std::vector<Word> options;  // The long options, without the dashes.
};

void Collect(const CLI::App& app, const std::string& place, std::vector<Node>& nodes) {
  Node node;
  node.place = place;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      node.options.emplace_back(name, option->get_description());
    }
  }
  const auto subcommands = app.get_subcommands(std::function<bool(const CLI::App*)>());
  for (const CLI::App* sub : subcommands) {
    node.commands.emplace_back(sub->get_name(), sub->get_description());
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : subcommands) {
    Collect(*sub, absl::StrCat(place, "/", sub->get_name()), nodes);
  }
}

std::vector<Node> NodesOf(const CLI::App& app) {
  std::vector<Node> nodes;
  Collect(app, "", nodes);
  return nodes;
}

// Returns the arms of a shell's case that give the words which may follow each place.
std::string WordArms(const std::vector<Node>& nodes) {
  std::string arms;
  for (const Node& node : nodes) {
    std::vector<std::string> words;
    for (const Word& command : node.commands) words.push_back(command.first);
    for (const Word& option : node.options) words.push_back("--" + option.first);
    absl::StrAppend(&arms, "    '", node.place, "') found='", absl::StrJoin(words, " "), "' ;;\n");
  }
  return arms;
}

// Returns all places but the root, with a separator between them: "/train|/config|/config/check".
std::string Places(const std::vector<Node>& nodes, const char* separator) {
  std::vector<std::string> places;
  for (const Node& node : nodes) {
    if (!node.place.empty()) places.push_back(node.place);
  }
  return absl::StrJoin(places, separator);
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  const std::vector<Node> nodes = NodesOf(app);
  return absl::StrCat(
      "_capstan() {\n"
      "  local at='' word found=''\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$at/$word\" in\n"
      "      ",
      Places(nodes, "|"),
      ") at=\"$at/$word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n",
      WordArms(nodes),
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$found\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
      "}\n"
      "complete -o default -F _capstan capstan\n");
}

std::string ZshCompletion(const CLI::App& app) {
  const std::vector<Node> nodes = NodesOf(app);
  return absl::StrCat(
      "#compdef capstan\n"
      "_capstan() {\n"
      "  local at='' word found=''\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$at/$word\" in\n"
      "      ",
      Places(nodes, "|"),
      ") at=\"$at/$word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n",
      WordArms(nodes),
      "  esac\n"
      "  compadd -- ${(s: :)found}\n"
      "  _files\n"
      "}\n"
      "compdef _capstan capstan\n");
}

std::string FishCompletion(const CLI::App& app) {
  const std::vector<Node> nodes = NodesOf(app);
  // The place where the words before lead to. That a word has been typed says less: `check` is a
  // command, and also one of `config`.
  std::string script = absl::StrCat(
      "function __capstan_at\n"
      "  set -l at ''\n"
      "  set -l words (commandline -opc)\n"
      "  set -e words[1]\n"
      "  for word in $words\n"
      "    switch \"$at/$word\"\n"
      "      case ",
      Places(nodes, " "),
      "\n"
      "        set at \"$at/$word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n");
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  };
  for (const Node& node : nodes) {
    const std::string start =
        absl::StrCat("complete -c capstan -n \"__capstan_at '", node.place, "'\"");
    for (const Word& command : node.commands) {
      absl::StrAppend(&script, start, " -a ", command.first, " -d ", quoted(command.second), "\n");
    }
    for (const Word& option : node.options) {
      absl::StrAppend(&script, start, " -l ", option.first, " -d ", quoted(option.second), "\n");
    }
  }
  return script;
}

}  // namespace capstan::cli
