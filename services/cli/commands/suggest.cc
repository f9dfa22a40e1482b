#include "cli/commands/suggest.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/config/spelling.h"

namespace capstan::cli {
namespace {

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    names.push_back(sub->get_name());
  }
  return names;
}

// Returns the long options, with their dashes, of a command and of the commands before it.
std::vector<std::string> OptionsOf(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// Returns an option of a command, or of a command before it, by its name with dashes; null: there
// is none.
const CLI::Option* FindOption(const CLI::App* app, const std::string& name) {
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->check_name(name)) return option;
    }
  }
  return nullptr;
}

// Returns whether the word behind this option is its value, whatever it looks like.
bool TakesNext(const CLI::Option& option, const std::string& word) {
  return option.get_items_expected_min() > 0 && word.find('=') == word.npos;
}

std::string About(absl::string_view kind, const std::string& word,
                  const std::vector<std::string>& known) {
  const std::vector<absl::string_view> names(known.begin(), known.end());
  const absl::string_view nearest = Nearest(word, names);
  return nearest.empty()
             ? absl::StrCat("unknown ", kind, " ", word, "; expected one of ",
                            absl::StrJoin(known, ", "))
             : absl::StrCat("unknown ", kind, " ", word, "; did you mean ", nearest, "?");
}

bool Holds(const std::vector<std::string>& known, const std::string& word) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

}  // namespace

std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  bool value = false;  // The next word is the value of the option before it.
  for (const std::string& word : words) {
    if (std::exchange(value, false)) continue;
    if (word == "--") return "";  // All words behind it are values.
    if (absl::StartsWith(word, "-")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* const option = FindOption(at, name);
      if (option == nullptr) {
        return absl::StartsWith(name, "--") ? About("option", name, OptionsOf(at)) : "";
      }
      value = TakesNext(*option, word);
      continue;
    }
    const std::vector<std::string> commands = CommandsOf(*at);
    if (Holds(commands, word)) {
      at = at->get_subcommand(word);
    } else if (!commands.empty()) {
      return About("command", word, commands);
    }
  }
  return "";
}

}  // namespace capstan::cli
