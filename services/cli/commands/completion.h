// Scripts that let a shell complete our commands and options, made from the parser itself, so that
// they never lag behind it.
#ifndef CAPSTAN_CLI_COMMANDS_COMPLETION_H_
#define CAPSTAN_CLI_COMMANDS_COMPLETION_H_

#include <CLI/App.hpp>
#include <string>

namespace capstan::cli {

// What goes into the shell's start-up file by `eval "$(capstan completion bash)"` (zsh the same;
// fish: `capstan completion fish | source`).
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_COMPLETION_H_
