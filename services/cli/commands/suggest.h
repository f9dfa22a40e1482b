// "did you mean": what was perhaps meant by a word of a command line that is not understood.
#ifndef CAPSTAN_CLI_COMMANDS_SUGGEST_H_
#define CAPSTAN_CLI_COMMANDS_SUGGEST_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace capstan::cli {

// "unknown command trian; did you mean train?", of the first word that is no command or option
// where it stands; empty: every word is one, or may be a value. `words`: without the program's
// name.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_SUGGEST_H_
