#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/train_run.h"

namespace capstan::cli {
namespace {

// Returns what is wrong with a worker's command that is a number, where --workers was meant; empty:
// it is none.
std::string NumberMistake(const std::string& command) {
  int workers = 0;
  if (!absl::SimpleAtoi(command, &workers)) return "";
  return absl::StrCat(command, " is a number, not a command; did you mean --workers ", command,
                      "?");
}

}  // namespace

void AddTrain(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* train = app.add_subcommand("train", "Train a job on this machine and show how it goes");
  train->add_option("job", options->job, "The job file")->required()->type_name("JOB.YAML");
  train->add_option("--shards", options->shards, "PS shards")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  train->add_option("--workers", options->workers, "Workers")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  train->add_option("--set", options->overrides, "Set a key of the job file; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  train
      ->add_option("--run-dir", options->run_folder,
                   "Folder of logs and ports, and of a job without checkpoint.uri; default: "
                   "a new one in capstan-runs/, such a job in capstan-runs/jobs/")
      ->type_name("FOLDER");
  train->add_option("--chief-port", options->chief_port, "Port of the chief; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  train->add_flag("--fresh", options->fresh,
                  "Start over, though checkpoint.uri holds this job; what it holds is kept");
  train->add_flag("--take-over", options->take_over,
                  "Take the job from whoever is training it, which ends that training");
  train
      ->add_option("--from", options->from,
                   "Begin with the parameters of another job's checkpoint: its folder")
      ->type_name("FOLDER");
  train
      ->add_option("--worker", options->worker,
                   "The command of your own program, which each worker is, where model.user names "
                   "one: one simple command, as 'env X=1 python3 model.py', or a script; see "
                   "docs/python.md")
      ->type_name("COMMAND")
      ->check(NumberMistake);
  train->add_flag("--plain", options->plain, "Log lines instead of the live screen");
  train->add_flag("--keep-going", options->keep_going,
                  "Go on without a worker that dies again and again, while there is another");
  train->footer(
      "Example:\n"
      "  capstan train deploy/examples/quickstart.yaml --shards 2 --workers 3 \\\n"
      "    --set train.epochs=2\n\n"
      "Ctrl-C saves the job, stops all processes and says how to go on; a second one ends at "
      "once.");
  train->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      options->programs = invocation.programs;
      options->program = invocation.program;
      options->tls = invocation.tls;
      options->identity = invocation.identity;
      return Train(*options);
    };
  });
}

}  // namespace capstan::cli
