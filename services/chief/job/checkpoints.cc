#include "chief/job/checkpoints.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

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

Checkpoints::Checkpoints(const ChiefOptions& options, const v1::JobSpec& spec,
                         const JobHistory& history)
    : checkpointer(CheckpointerOf(options, spec)),
      catalog({.keep = spec.checkpoint().keep(), .metric = spec.train().early_stop().metric()}) {
  for (const CheckpointFacts& facts : history.checkpoints) catalog.Add(facts);
  checkpointer.AddGarbage(history.garbage);
}

}  // namespace capstan::chief
