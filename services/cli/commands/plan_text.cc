#include "cli/commands/plan_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/config/quantity.h"
#include "cli/terminal/format.h"

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
                   times(plan.traffic.busiest.pushed_bytes)),
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
  if (plan.row_bytes > 0) {
    lines.push_back(absl::StrCat("rows        ", plan.row_bytes, " bytes a row at most, ",
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
  return absl::StrFormat(
      "{\"compute_seconds\": %.6g, \"pull_seconds\": %.6g, \"push_seconds\": %.6g, "
      "\"apply_seconds\": %.6g, \"wait_seconds\": %.6g, \"step_seconds\": %.6g, "
      "\"examples_per_second\": %.6g, \"epoch_seconds\": %.6g, \"bottleneck\": \"%s\", "
      "\"pulled_bytes\": %d, \"pushed_bytes\": %d, \"shard_bytes\": %d, \"worker_bytes\": %d, "
      "\"chief_bytes\": %d, \"checkpoint_bytes\": %d, \"store_seconds\": %.6g, "
      "\"more_by_a_worker\": %.4g, \"more_by_a_shard\": %.4g, \"fits\": %s}",
      step.compute, step.pull, step.push, step.apply, step.wait, step.total(),
      plan.examples_per_second, plan.epoch_seconds, plan.pace.loads.front().what,
      plan.traffic.worker.pulled_bytes, plan.traffic.worker.pushed_bytes, plan.sizes.shard.bytes(),
      plan.sizes.worker.bytes(), plan.sizes.chief.bytes(), plan.sizes.checkpoint_bytes,
      plan.store_seconds, plan.more_by_a_worker, plan.more_by_a_shard,
      plan.refusals.empty() ? "true" : "false");
}

}  // namespace capstan::cli
