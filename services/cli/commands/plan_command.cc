#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "capstan/base/divide.h"
#include "capstan/base/status.h"
#include "capstan/client/share_limit.h"
#include "capstan/config/config.h"
#include "capstan/config/quantity.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/row_estimate.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/task_size.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/layout.h"
#include "capstan/plan/measured_run.h"
#include "capstan/plan/plan.h"
#include "capstan/plan/task_memory.h"
#include "cli/commands/command.h"
#include "cli/commands/measure_job.h"
#include "cli/commands/plan_text.h"
#include "cli/model/read_cost.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

struct PlanSettings {
  std::string job;
  std::vector<std::string> overrides;
  Scale scale;
  std::string network = "10Gbit";
  std::string store = "100MB";
  std::string shard_memory = "0";
  std::string worker_memory = "0";
  std::string chief_memory = "0";
  std::string rates;
  std::string data;
  std::string records;
  std::string rows;
  std::string keys;
  std::string dense;
  BatchTime batch;
  MeasureOptions measure;  // Its job and overrides are set from those above.
  bool measures = false;
  std::string save_rates;
  bool json = false;
};

constexpr double kMostBandwidth = 1e18;  // Bytes a second, which no network has.
constexpr double kMostSeconds = 1e9;     // Thirty years, which no batch takes.

// Returns what is wrong with the seconds that a batch takes; empty: nothing.
std::string SecondsMistake(const std::string& text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && seconds >= 0 && seconds <= kMostSeconds) return "";
  return absl::StrCat(text, " are no seconds of a batch; expected a number from 0 to 1e9");
}

absl::StatusOr<uint64_t> ReadSize(const char* option, const std::string& text) {
  const std::optional<uint64_t> bytes = text == "0" ? 0 : ParseByteSize(text);
  if (bytes) return *bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": \"", text, "\" is no size, as 2GiB or 500MB"));
}

// Returns 0 for an empty text.
absl::StatusOr<uint64_t> ReadCount(const char* option, const std::string& text) {
  const std::optional<uint64_t> count = text.empty() ? 0 : ParseCount(text);
  if (count) return *count;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": \"", text, "\" is no number, as 5000 or 1.5M"));
}

// Parses "10Gbit", "100Mbit", or a size as bytes a second.
absl::StatusOr<double> ReadNetwork(absl::string_view text) {
  absl::string_view number = text;
  const double unit = absl::ConsumeSuffix(&number, "Gbit")   ? 1e9
                      : absl::ConsumeSuffix(&number, "Mbit") ? 1e6
                                                             : 0;
  double rate = -1;
  double bits = 0;
  if (unit > 0 && absl::SimpleAtod(number, &bits)) rate = bits * unit / 8;
  const std::optional<uint64_t> bytes = text == "0" ? 0 : ParseByteSize(text);
  if (bytes) rate = static_cast<double>(*bytes);
  if (rate > 0 && rate < kMostBandwidth) return rate;
  if (rate == 0) return absl::InvalidArgumentError("--network: is 0");
  return absl::InvalidArgumentError(absl::StrCat(
      "--network: \"", text, "\" is no rate, as 10Gbit, or as 1GB for bytes a second"));
}

absl::StatusOr<Scale> ReadScale(const PlanSettings& options) {
  Scale scale = options.scale;
  CAPSTAN_ASSIGN_OR_RETURN(scale.network_bytes_per_second, ReadNetwork(options.network));
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t store, ReadSize("--store", options.store));
  if (store == 0) return absl::InvalidArgumentError("--store: is 0");
  scale.store_bytes_per_second = static_cast<double>(store);
  CAPSTAN_ASSIGN_OR_RETURN(scale.shard_memory_bytes,
                           ReadSize("--shard-memory", options.shard_memory));
  CAPSTAN_ASSIGN_OR_RETURN(scale.worker_memory_bytes,
                           ReadSize("--worker-memory", options.worker_memory));
  CAPSTAN_ASSIGN_OR_RETURN(scale.chief_memory_bytes,
                           ReadSize("--chief-memory", options.chief_memory));
  return scale;
}

absl::StatusOr<Rates> ReadRates(const std::string& path) {
  if (path.empty()) return RecordedRates();
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::stringstream text;
  text << file.rdbuf();
  absl::StatusOr<Rates> rates = ParseRates(text.str());
  if (rates.ok()) return rates;
  return absl::InvalidArgumentError(absl::StrCat(path, ":", rates.status().message()));
}

// Sets the facts of the data from the options, where the data are not looked at, and lays out the
// model.
absl::Status TellData(const PlanSettings& options, v1::JobSpec& job, DataFacts& facts) {
  v1::DataSpec& data = *job.mutable_data();
  if (data.fields() == 0) data.set_fields(static_cast<uint32_t>(data.categorical_size()));
  const v1::ImageSpec& image = data.image();
  data.set_dense_width(image.height() > 0 ? image.height() * image.width() * image.channels()
                                          : static_cast<uint32_t>(data.numeric_size()));
  CAPSTAN_ASSIGN_OR_RETURN(facts.bytes, ReadSize("--data", options.data));
  if (facts.bytes == 0) return absl::InvalidArgumentError("--data: is 0");
  const uint64_t task = TaskBytes(data, facts.bytes);
  facts.tasks = DivideUp(facts.bytes, task);
  return LayOutModel(job);
}

// Looks at the data, and lays out the model. Returns the data's ranges.
absl::StatusOr<TaskRanges> LookAtData(v1::JobSpec& job, DataFacts& facts) {
  const std::unique_ptr<const Source> files = NewDataFiles();
  CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*files, *job.mutable_data()));
  CAPSTAN_ASSIGN_OR_RETURN(TaskRanges train, PlanTasks(*files, job.data(),
                                                       {.split = capstan::Split::kTrain,
                                                        .batch_size = job.train().batch_size()}));
  for (const v1::TaskRun& run : train.runs()) facts.range_bytes += run.SpaceUsedLong();
  facts.records = train.expected_records();
  facts.tasks = TaskMix(train, job.data(), job.seed()).size();
  CAPSTAN_RETURN_IF_ERROR(LayOutModel(job));
  const RowEstimate estimate = EstimateRows(job, *files, train);
  facts.rows = estimate.rows;
  facts.keys_a_batch = estimate.keys_a_batch;
  facts.packed_record_bytes = estimate.packed_record_bytes;
  return train;
}

// A program's dense parameters are known once its first worker has declared them; before that an
// option gives their number.
absl::Status TellDense(const PlanSettings& options, v1::JobSpec& job) {
  if (job.model().user().empty()) {
    if (options.dense.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--dense-parameters: is for a program of model.user, and the job names none; how many its "
        "model has is known");
  }
  if (job.tensors_size() > 0) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t floats, ReadCount("--dense-parameters", options.dense));
  if (floats > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dense-parameters: ", options.dense, " are more than ", UINT32_MAX));
  }
  if (floats == 0) {
    return absl::InvalidArgumentError(
        "--dense-parameters: how many the program of model.user has must be said, as 25.5M");
  }
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("dense");
  tensor.add_shape(static_cast<uint32_t>(floats));
  *tensor.mutable_optimizer() = job.dense_optimizer();
  return absl::OkStatus();
}

absl::Status TellFacts(const PlanSettings& options, const v1::JobSpec& job, DataFacts& facts) {
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t records, ReadCount("--records", options.records));
  if (records > 0) facts.records = records;
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t rows, ReadCount("--rows", options.rows));
  if (rows > 0) facts.rows = rows;
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t keys, ReadCount("--keys", options.keys));
  if (keys > 0) facts.keys_a_batch = keys;
  // A feature with many values is taken to have one value; --keys says otherwise.
  const uint64_t fields =
      std::max<uint64_t>(job.data().fields(), static_cast<uint64_t>(job.data().features_size()));
  const uint64_t all = job.train().batch_size() * fields;
  if (facts.keys_a_batch == 0) facts.keys_a_batch = all;
  if (job.tables().empty()) facts.keys_a_batch = 0;
  facts = WithTaskMemory(job, facts);
  return absl::OkStatus();
}

absl::Status SaveRates(const std::string& path, const Rates& rates) {
  std::ofstream file(path, std::ios::trunc);
  file << RatesText(rates) << std::flush;
  if (file) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--save-rates: ", path, ": cannot be written"));
}

// Trains the job for a while, after which a program's tensors are known as well.
absl::StatusOr<MeasuredJob> Measure(const PlanSettings& options, const TaskRanges& train,
                                    v1::JobSpec& job) {
  MeasureOptions measure = options.measure;
  measure.job = options.job;
  measure.overrides = options.overrides;
  PrintError(absl::StrCat("measuring: ", Printable(job.job()), " is trained for about ",
                          absl::FormatDuration(measure.at_work)));
  CAPSTAN_ASSIGN_OR_RETURN(MeasuredJob measured, MeasureJob(measure, job));
  measured.run.batch.read_seconds = ReadSecondsABatch(job, *NewDataFiles(), train);
  if (job.tensors().empty()) *job.mutable_tensors() = measured.stored.tensors();
  return measured;
}

// REQUIRES: the facts of the data are set.
absl::Status UseMeasured(const PlanSettings& options, const MeasuredJob& measured,
                         PlannedJob& planned) {
  CAPSTAN_ASSIGN_OR_RETURN(planned.rates, Calibrated(std::move(planned.rates), measured.stored,
                                                     planned.facts, measured.run));
  if (options.save_rates.empty()) return absl::OkStatus();
  return SaveRates(options.save_rates, planned.rates);
}

absl::StatusOr<PlannedJob> PlanJob(const PlanSettings& options) {
  PlannedJob planned;
  CAPSTAN_ASSIGN_OR_RETURN(planned.scale, ReadScale(options));
  CAPSTAN_ASSIGN_OR_RETURN(planned.rates, ReadRates(options.rates));
  CAPSTAN_ASSIGN_OR_RETURN(
      planned.job,
      LoadJob(options.job, {.overrides = options.overrides,
                            .default_lanes = static_cast<uint32_t>(options.scale.workers)}));
  std::optional<MeasuredJob> measured;
  if (options.data.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(const TaskRanges train, LookAtData(planned.job, planned.facts));
    if (options.measures) {
      CAPSTAN_ASSIGN_OR_RETURN(measured, Measure(options, train, planned.job));
    }
  } else {
    CAPSTAN_RETURN_IF_ERROR(TellData(options, planned.job, planned.facts));
  }
  CAPSTAN_RETURN_IF_ERROR(TellDense(options, planned.job));
  CAPSTAN_RETURN_IF_ERROR(CheckDenseShares(planned.job));
  CAPSTAN_RETURN_IF_ERROR(TellFacts(options, planned.job, planned.facts));
  if (measured) CAPSTAN_RETURN_IF_ERROR(UseMeasured(options, *measured, planned));
  BatchTime batch = options.batch;
  const auto known = planned.rates.batches.find(planned.job.job());
  if (batch.compute_seconds == 0 && known != planned.rates.batches.end()) {
    batch = known->second;
    if (options.batch.deviation_seconds > 0) {
      batch.deviation_seconds = options.batch.deviation_seconds;
    }
  }
  if (batch.compute_seconds == 0) {
    return absl::InvalidArgumentError(
        "--step-seconds: how long a batch is computed must be said, here or in the file of "
        "--rates, or measured (--measure)");
  }
  CAPSTAN_ASSIGN_OR_RETURN(
      planned.plan, MakePlan(planned.job, planned.facts, planned.scale, planned.rates, batch));
  return planned;
}

ExitCode RunPlan(const PlanSettings& options) {
  const absl::StatusOr<PlannedJob> planned = PlanJob(options);
  if (absl::IsCancelled(planned.status())) {
    PrintError("stopped");
    return kFailed;
  }
  if (!planned.ok()) {
    PrintRefusal(planned.status());
    return kBadInput;
  }
  if (options.json) {
    PrintLine(PlanJson(*planned));
  } else {
    for (const std::string& line : PlanLines(*planned)) PrintLine(line);
  }
  return planned->plan.refusals.empty() ? kDone : kBadInput;
}

void AddFacts(CLI::App& plan, PlanSettings& options) {
  plan.add_option("--data", options.data,
                  "Bytes of the training data, which are not looked at then")
      ->type_name("SIZE");
  plan.add_option("--records", options.records, "Records of an epoch")->type_name("COUNT");
  plan.add_option("--rows", options.rows, "Rows that the tables will hold")->type_name("COUNT");
  plan.add_option(
          "--keys", options.keys,
          "Different keys of a batch; default: as many as batches of the first task have, or, "
          "with --data, as a batch's records hold")
      ->type_name("COUNT");
  plan.add_option("--dense-parameters", options.dense, "That the program of model.user has")
      ->type_name("COUNT");
  plan.add_option("--step-seconds", options.batch.compute_seconds,
                  "To compute a batch, with train.step_threads threads")
      ->type_name("SECONDS")
      ->check(SecondsMistake);
  plan.add_option("--step-deviation", options.batch.deviation_seconds,
                  "Standard deviation of --step-seconds among batches and workers")
      ->type_name("SECONDS")
      ->check(SecondsMistake);
  plan.add_option("--read-seconds", options.batch.read_seconds, "To read and parse a batch")
      ->type_name("SECONDS")
      ->check(SecondsMistake);
}

void AddScale(CLI::App& plan, PlanSettings& options) {
  plan.add_option("--shards", options.scale.shards, "PS shards")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  plan.add_option("--workers", options.scale.workers, "Workers")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  plan.add_option("--network", options.network,
                  "Of each process, each way: 10Gbit, or bytes a second")
      ->type_name("RATE")
      ->capture_default_str();
  plan.add_option("--store", options.store,
                  "Bytes a second that a process writes to the object store")
      ->type_name("SIZE")
      ->capture_default_str();
  plan.add_option("--cores", options.scale.cores, "Of each process, or of the one machine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  plan.add_flag("--one-machine", options.scale.one_machine,
                "All processes share one machine's cores, as with `capstan train`");
  for (const auto& [name, to] : {std::pair{"--shard-memory", &options.shard_memory},
                                 std::pair{"--worker-memory", &options.worker_memory},
                                 std::pair{"--chief-memory", &options.chief_memory}}) {
    plan.add_option(name, *to, "Memory that it may take; 0: not said")
        ->type_name("SIZE")
        ->capture_default_str();
  }
}

void AddMeasure(CLI::App& plan, PlanSettings& options) {
  CLI::Option* measure =
      plan.add_flag("--measure", options.measures,
                    "Train the job here with one worker and one shard for some seconds, and plan "
                    "by what its batches cost")
          ->excludes("--data")
          ->excludes("--dense-parameters")
          ->excludes("--step-seconds")
          ->excludes("--read-seconds");
  plan.add_option(
          "--worker", options.measure.worker,
          "With --measure: the command of your own program, where model.user names one, as of "
          "capstan train")
      ->type_name("COMMAND")
      ->needs(measure);
  plan.add_option("--save-rates", options.save_rates,
                  "With --measure: the file that what was measured is written to, for --rates")
      ->type_name("FILE")
      ->needs(measure);
}

}  // namespace

void AddPlan(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<PlanSettings>();
  CLI::App* plan =
      app.add_subcommand("plan", "Tell what a job needs and how long it takes, before it runs");
  plan->add_option("job", options->job, "The job file")->required()->type_name("JOB.YAML");
  AddScale(*plan, *options);
  AddFacts(*plan, *options);
  AddMeasure(*plan, *options);
  plan->add_option("--rates", options->rates,
                   "What a unit of work costs; default: what was recorded for this version")
      ->type_name("FILE");
  plan->add_option("--set", options->overrides, "Set a key of the job file; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  plan->add_flag("--json", options->json, "As JSON, in one line");
  plan->footer(
      "Example:\n"
      "  capstan plan job.yaml --workers 100 --shards 10 --network 10Gbit --measure");
  plan->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      options->measure.programs = invocation.programs;
      options->measure.identity = invocation.identity;
      return RunPlan(*options);
    };
  });
}

}  // namespace capstan::cli
