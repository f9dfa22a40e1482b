// "did you mean": suggestions for words of a command line that are not understood.
#ifndef CAPSTAN_CLI_COMMANDS_SUGGEST_H_
#define CAPSTAN_CLI_COMMANDS_SUGGEST_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace capstan::cli {

// Returns "unknown command trian; did you mean train?" for the first word that is no command or
// option at its place; empty: every word is one, or may be a value. `words` are without the
// program's name.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_SUGGEST_H_
