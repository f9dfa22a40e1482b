#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands/command.h"
#include "cli/commands/completion.h"

namespace capstan::cli {

void AddCompletion(CLI::App& app, Invocation& invocation) {
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script for a shell's completion");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "The shell")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Example:\n"
      "  eval \"$(capstan completion bash)\"\n"
      "  capstan completion fish | source");
  completion->callback([shell, &app, &invocation] {
    invocation.run = [shell, &app] {
      const std::string script = *shell == "bash"  ? BashCompletion(app)
                                 : *shell == "zsh" ? ZshCompletion(app)
                                                   : FishCompletion(app);
      std::fputs(script.c_str(), stdout);  // Our own, and so Printable.
      return kDone;
    };
  });
}

}  // namespace capstan::cli
