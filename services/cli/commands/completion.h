// Scripts with which a shell completes our commands and options. They are made from the parser, so
// they never lag behind it.
#ifndef CAPSTAN_CLI_COMMANDS_COMPLETION_H_
#define CAPSTAN_CLI_COMMANDS_COMPLETION_H_

#include <CLI/App.hpp>
#include <string>

namespace capstan::cli {

// Return the script that a shell's start-up file loads by `eval "$(capstan completion bash)"` (the
// same for zsh; for fish `capstan completion fish | source`).
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_COMPLETION_H_
