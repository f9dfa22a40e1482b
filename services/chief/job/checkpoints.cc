#include "chief/job/checkpoints.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "chief/work/held_out.h"

namespace capstan::chief {
namespace {

CheckpointerOptions CheckpointerOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  const v1::CheckpointSpec& checkpoint = spec.checkpoint();
  const absl::string_view prefix = absl::StripSuffix(checkpoint.uri(), "/");
  return {.folder = prefix.empty() ? "" : absl::StrCat(prefix, "/", spec.job(), "/checkpoints"),
          .term = options.term,
          .run_id = options.run_id,
          .every = absl::Seconds(checkpoint.every_seconds()),
          .call_deadline = options.call_deadline,
          .patience = options.still_patience};
}

}  // namespace

Checkpoints::Checkpoints(const ChiefOptions& options, const JobPlan& plan,
                         const JobHistory& history)
    : checkpointer(CheckpointerOf(options, plan.spec)),
      catalog({.keep = plan.spec.checkpoint().keep(),
               .metric = plan.spec.train().early_stop().metric()}) {
  const uint64_t held_out = HeldOutFingerprint(plan);
  for (CheckpointFacts facts : history.checkpoints) {
    if (facts.held_out != held_out) facts.metrics.clear();
    catalog.Add(std::move(facts));
  }
  checkpointer.AddGarbage(history.garbage);
}

}  // namespace capstan::chief
