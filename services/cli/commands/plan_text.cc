#include "cli/commands/plan_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/config/quantity.h"
#include "cli/terminal/format.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace capstan::cli {
namespace {

std::string MemoryText(const ProcessMemory& memory) {
  std::vector<std::string> parts;
  for (const MemoryPart& part : memory.parts) {
    parts.push_back(absl::StrCat(ByteSizeText(part.bytes), " ", part.what));
  }
  return absl::StrCat(ByteSizeText(memory.bytes()), ": ", absl::StrJoin(parts, ", "));
}

std::string ScaleText(const PlannedJob& planned) {
  const Scale& scale = planned.scale;
  std::string text = absl::StrCat(scale.workers, " workers, ", scale.shards, " shards, ");
  if (scale.one_machine) return absl::StrCat(text, "on one machine of ", scale.cores, " cores");
  return absl::StrCat(text, scale.cores, " cores each, network ",
                      ByteSizeText(static_cast<uint64_t>(scale.network_bytes_per_second)),
                      " a second each way");
}

std::string StepText(const capstan::StepTime& step) {
  return absl::StrCat(cli::StepTime(step.total()), ": compute ", cli::StepTime(step.compute),
                      ", pull ", cli::StepTime(step.pull), ", push ", cli::StepTime(step.push),
                      ", apply ", cli::StepTime(step.apply), ", wait ", cli::StepTime(step.wait));
}

}  // namespace

std::vector<std::string> PlanLines(const PlannedJob& planned) {
  const Plan& plan = planned.plan;
  const uint64_t lanes = LanesOf(planned.job);
  const Load& longest = plan.pace.loads.front();
  const double batches = lanes > 0 ? static_cast<double>(lanes) : planned.scale.workers;
  const auto times = [&](uint64_t bytes) {
    return ByteSizeText(static_cast<uint64_t>(batches * static_cast<double>(bytes)));
  };
  std::vector<std::string> lines = {
      absl::StrCat("job         ", planned.job.job()),
      absl::StrCat("scale       ", ScaleText(planned)),
      absl::StrCat("rates       ", planned.rates.origin),
      absl::StrCat("data        ", planned.facts.tasks, " tasks",
                   planned.facts.records > 0
                       ? absl::StrCat(", ", Grouped(planned.facts.records), " records an epoch")
                       : ""),
      absl::StrCat("batch       a worker pulls ", ByteSizeText(plan.traffic.worker.pulled_bytes),
                   " and pushes ", ByteSizeText(plan.traffic.worker.pushed_bytes)),
      absl::StrCat(lanes > 0 ? "round       " : "all workers ", "the busiest shard sends ",
                   times(plan.traffic.busiest.pulled_bytes), " and receives ",
                   times(plan.traffic.busiest.pushed_bytes),
                   IsHeldTwice(planned.job, planned.scale.shards)
                       ? absl::StrCat(", and sends ", times(plan.traffic.busiest.pushed_bytes),
                                      " on to its backups")
                       : ""),
      absl::StrCat("step        ", StepText(plan.pace.step)),
      absl::StrFormat("bottleneck  %s: %.0f %% of a step", longest.what,
                      100 * longest.seconds / plan.pace.step.total()),
      absl::StrCat("speed       ", Short(plan.examples_per_second), " examples a second",
                   plan.epoch_seconds > 0
                       ? absl::StrCat(", an epoch takes ", ShortSeconds(plan.epoch_seconds))
                       : ""),
      absl::StrFormat("one more    worker: %+.1f %%; shard: %+.1f %% examples a second",
                      100 * plan.more_by_a_worker, 100 * plan.more_by_a_shard),
      absl::StrCat("shard       ", MemoryText(plan.sizes.shard)),
      absl::StrCat("worker      ", MemoryText(plan.sizes.worker)),
      absl::StrCat("chief       ", MemoryText(plan.sizes.chief)),
      absl::StrCat("checkpoint  ", ByteSizeText(plan.sizes.checkpoint_bytes), " in at most ",
                   plan.sizes.checkpoint_objects, " objects; written in ",
                   ShortSeconds(plan.store_seconds), ", restored in as long")};
  if (planned.rates.shard_bytes == 0) {
    lines.push_back(
        "memory      is that of the job: these rates do not say what a process itself takes");
  }
  if (plan.sizes.row_bytes > 0) {
    lines.push_back(absl::StrCat("rows        ", plan.sizes.row_bytes, " bytes a row at most, ",
                                 Grouped(planned.facts.rows), " rows"));
  }
  for (const std::string& warning : plan.warnings) {
    lines.push_back(absl::StrCat("warning: ", warning));
  }
  for (const std::string& refusal : plan.refusals) {
    lines.push_back(absl::StrCat("does not fit: ", refusal));
  }
  return lines;
}

std::string PlanJson(const PlannedJob& planned) {
  const Plan& plan = planned.plan;
  const capstan::StepTime& step = plan.pace.step;
  google::protobuf::Struct json;
  // JSON has no numbers that are not finite.
  const auto number = [&json](const char* name, auto value) {
    google::protobuf::Value& field = (*json.mutable_fields())[name];
    if (const auto finite = static_cast<double>(value); std::isfinite(finite)) {
      field.set_number_value(finite);
    } else {
      field.set_null_value(google::protobuf::NULL_VALUE);
    }
  };
  const auto texts = [&json](const char* name, const std::vector<std::string>& all) {
    google::protobuf::ListValue& list = *(*json.mutable_fields())[name].mutable_list_value();
    for (const std::string& text : all) list.add_values()->set_string_value(text);
  };
  number("compute_seconds", step.compute);
  number("pull_seconds", step.pull);
  number("push_seconds", step.push);
  number("apply_seconds", step.apply);
  number("wait_seconds", step.wait);
  number("step_seconds", step.total());
  number("examples_per_second", plan.examples_per_second);
  number("epoch_seconds", plan.epoch_seconds);
  number("tasks", planned.facts.tasks);
  number("pulled_bytes", plan.traffic.worker.pulled_bytes);
  number("pushed_bytes", plan.traffic.worker.pushed_bytes);
  number("shard_bytes", plan.sizes.shard.bytes());
  number("worker_bytes", plan.sizes.worker.bytes());
  number("chief_bytes", plan.sizes.chief.bytes());
  number("checkpoint_bytes", plan.sizes.checkpoint_bytes);
  number("checkpoint_objects", plan.sizes.checkpoint_objects);
  number("store_seconds", plan.store_seconds);
  number("more_by_a_worker", plan.more_by_a_worker);
  number("more_by_a_shard", plan.more_by_a_shard);
  (*json.mutable_fields())["bottleneck"].set_string_value(plan.pace.loads.front().what);
  texts("warnings", plan.warnings);
  texts("does_not_fit", plan.refusals);
  std::string text;
  // Cannot fail: every number is finite, and what people have named is UTF-8.
  (void)google::protobuf::util::MessageToJsonString(json, &text);
  return text;
}

}  // namespace capstan::cli
