#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/client/share_limit.h"
#include "capstan/config/config.h"
#include "capstan/config/describe.h"
#include "capstan/config/key_page.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/check_first_records.h"
#include "capstan/data/tasks/data_warnings.h"
#include "capstan/data/tasks/plan_eval_sets.h"
#include "capstan/data/tasks/row_estimate.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/layout.h"
#include "capstan/plan/memory.h"
#include "cli/commands/command.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr size_t kHelpWidth = 92;  // Cells of a line of what a key means.

struct ConfigOptions {
  std::string job;
  std::vector<std::string> overrides;
  int shards = 1;
  int workers = 1;
};

// Says which files were not checked, which happens if there are very many.
std::string FilesPassedOver(const TaskRanges& ranges) {
  std::set<std::string> files;
  for (const v1::TaskRun& run : ranges.runs()) files.insert(run.file());
  if (files.size() <= kMostCheckedFiles) return "";
  return absl::StrCat("files     the first records of ", kMostCheckedFiles, " of the ",
                      files.size(), " training files are looked at");
}

// Does all that the chief does before it trains: reads the job, looks at the data, lays out the
// model, parses the first records of every file and plans the tasks.
absl::StatusOr<JobDescription> Describe(const ConfigOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(
      v1::JobSpec job,
      LoadJob(options.job, {.overrides = options.overrides,
                            .default_lanes = static_cast<uint32_t>(options.workers)}));
  const std::unique_ptr<const Source> files = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*files, *job.mutable_data()));
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(job));
  CAPSTAN_RETURN_IF_ERROR(CheckDenseShares(job));
  CAPSTAN_RETURN_IF_ERROR(CheckFirstRecords(*files, job));
  JobScale scale{.shards = options.shards, .workers = options.workers};
  const uint32_t batch_size = job.train().batch_size();
  CAPSTAN_ASSIGN_OR_RETURN(
      const TaskRanges train,
      PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = batch_size}));
  const TaskMix mix(train, job.data(), job.seed());
  scale.train_tasks = mix.size();
  scale.expected_rows = EstimateRows(job, *files, train).rows;
  CAPSTAN_ASSIGN_OR_RETURN(scale.row_bytes, RowBytes(job));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<uint64_t> dense, DenseBytes(job, options.shards));
  scale.dense_bytes = *std::max_element(dense.begin(), dense.end());
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<DataWarning> odd, DataWarnings(*files, job, mix));
  CAPSTAN_ASSIGN_OR_RETURN(const EvalTasks eval,
                           PlanEvalSets(*files, job.data(), {.batch_size = batch_size}));
  scale.eval_tasks = eval.ranges.size();
  JobDescription description = DescribeJob(job, scale);
  if (std::string large = SparseShareWarning(job); !large.empty()) {
    description.warnings.push_back(std::move(large));
  }
  for (DataWarning& warning : odd) {
    if (!warning.sentence.empty()) description.warnings.push_back(std::move(warning.sentence));
  }
  if (std::string passed_over = FilesPassedOver(train); !passed_over.empty()) {
    description.lines.push_back(std::move(passed_over));
  }
  return description;
}

ExitCode CheckConfig(const ConfigOptions& options) {
  const absl::StatusOr<JobDescription> description = Describe(options);
  if (!description.ok()) {
    PrintRefusal(description.status());
    return kBadInput;
  }
  for (const std::string& line : description->lines) PrintLine(line);
  for (const std::string& warning : description->warnings) {
    PrintLine(absl::StrCat("warning: ", warning));
  }
  return kDone;
}

struct KeysOptions {
  std::string front;
  std::string page;
};

// Prints a line for each key that begins with `front`, and, if that is given, what the key means.
ExitCode ListKeys(const std::string& front) {
  bool any = false;
  for (const JobKey& key : JobKeys()) {
    if (!key.key.starts_with(front)) continue;
    any = true;
    const bool has_default = !key.default_value.empty();
    PrintLine(absl::StrCat(key.key, "  ", key.values, key.required ? "; required" : "",
                           has_default ? "; default " : "", PlainText(key.default_value)));
    if (front.empty() || key.help.empty()) continue;
    for (const std::string& line : Wrapped(PlainText(key.help), kHelpWidth)) {
      PrintLine(absl::StrCat("    ", line));
    }
  }
  if (any) return kDone;
  PrintError(absl::StrCat("no key begins with ", front, "; `capstan config keys` lists them all"));
  return kBadInput;
}

// Makes the tables of a page such as docs/job-yaml.md anew.
absl::Status WritePage(const std::string& path) {
  std::ifstream before(path, std::ios::binary);
  if (!before.is_open()) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  absl::StatusOr<std::string> page =
      WithKeyTables(std::string(std::istreambuf_iterator<char>(before), {}));
  if (!page.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", page.status().message()));
  }
  std::ofstream now(path, std::ios::binary | std::ios::trunc);
  now << *page << std::flush;
  return now ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

ExitCode ShowKeys(const KeysOptions& options) {
  return options.page.empty() ? ListKeys(options.front) : ReportEnd(WritePage(options.page));
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
  CLI::App* keys = config->add_subcommand("keys",
                                          "List the keys of job files, the values that they take, "
                                          "and their defaults, or that they are required");
  auto keys_options = std::make_shared<KeysOptions>();
  CLI::Option* const front =
      keys->add_option("key", keys_options->front,
                       "Only those that begin so, such as train.clip_norm; also what they mean")
          ->type_name("KEY");
  keys->add_option("--page", keys_options->page,
                   "Write the tables of this page, such as docs/job-yaml.md, in place of listing")
      ->type_name("FILE")
      ->excludes(front);
  keys->footer("Example:\n  capstan config keys checkpoint");
  keys->callback([keys_options, &invocation] {
    invocation.run = [keys_options] { return ShowKeys(*keys_options); };
  });
}

}  // namespace capstan::cli
