#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/config/describe.h"
#include "capstan/data/source.h"
#include "capstan/data/tasks.h"
#include "capstan/model/layout.h"
#include "cli/command.h"

namespace capstan::cli {
namespace {

struct ConfigOptions {
  std::string job;
  std::vector<std::string> overrides;
  int shards = 1;
  int workers = 1;
};

// Does all that the chief does before it trains: reads the job, looks at the data, plans the tasks
// and lays out the model.
absl::StatusOr<JobDescription> Describe(const ConfigOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(
      v1::JobSpec job,
      LoadJob(options.job, {.overrides = options.overrides,
                            .default_lanes = static_cast<uint32_t>(options.workers)}));
  const std::unique_ptr<const Source> files = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*files, *job.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(job));
  JobScale scale{.shards = options.shards, .workers = options.workers};
  const uint32_t batch_size = job.train().batch_size();
  CAPSTAN_ASSIGN_OR_RETURN(
      const std::vector<v1::Task> train,
      PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = batch_size}));
  scale.train_tasks = train.size();
  if (job.data().eval_size() > 0 || job.data().format() == v1::DATA_FORMAT_SYNTHETIC) {
    CAPSTAN_ASSIGN_OR_RETURN(
        const std::vector<v1::Task> eval,
        PlanTasks(*files, job.data(), {.split = Split::kEval, .batch_size = batch_size}));
    scale.eval_tasks = eval.size();
  }
  return DescribeJob(job, scale);
}

ExitCode CheckConfig(const ConfigOptions& options) {
  const absl::StatusOr<JobDescription> description = Describe(options);
  if (!description.ok()) {
    PrintRefusal(description.status());
    return kBadInput;
  }
  for (const std::string& line : description->lines) std::printf("%s\n", line.c_str());
  for (const std::string& warning : description->warnings) {
    std::printf("warning: %s\n", warning.c_str());
  }
  return kDone;
}

}  // namespace

void AddConfig(CLI::App& app, Invocation& invocation) {
  CLI::App* config = app.add_subcommand("config", "Look at job files");
  config->require_subcommand(1);
  config->footer("Example:\n  capstan config check job.yaml --shards 2 --workers 3");
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* check = config->add_subcommand(
      "check", "Check a job file and its data; tell tasks, memory per shard, and what is odd");
  check->add_option("job", options->job, "The job file")->required()->type_name("JOB.YAML");
  check->add_option("--shards", options->shards, "PS shards it would have")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  check->add_option("--workers", options->workers, "Workers it would have")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  check->add_option("--set", options->overrides, "Set a key of the job file; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  check->footer("Example:\n  capstan config check job.yaml --set train.batch_size=256");
  check->callback(
      [options, &invocation] { invocation.run = [options] { return CheckConfig(*options); }; });
}

}  // namespace capstan::cli
