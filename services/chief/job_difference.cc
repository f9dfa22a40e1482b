#include "chief/job_difference.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"

namespace capstan::chief {
namespace {

// Where a job is written, how it is watched and how fast it goes may change while it exists.
v1::JobSpec WhatMatters(v1::JobSpec spec) {
  spec.clear_checkpoint();
  spec.clear_lease();
  spec.clear_recovery();
  v1::TrainSpec& train = *spec.mutable_train();
  train.clear_compute_threads();
  train.clear_evaluate_every_examples();
  train.clear_early_stop();
  train.clear_max_steps();
  train.clear_prefetch_batches();
  train.clear_push_window();
  spec.mutable_data()->clear_eval();
  spec.mutable_data()->clear_max_bad_records();
  return spec;
}

std::string Difference(const v1::JobSpec& before, const v1::JobSpec& now) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  (void)differencer.Compare(before, now);
  return difference;
}

bool OfAnotherPlace(const v1::JobSpec& running, const v1::JobSpec& wanted) {
  return wanted.job() != running.job() || wanted.checkpoint().uri() != running.checkpoint().uri();
}

}  // namespace

std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now) {
  return Difference(WhatMatters(before), WhatMatters(now));
}

std::string JobChange(const v1::JobSpec& running, const absl::StatusOr<v1::JobSpec>& wanted) {
  if (!wanted.ok()) {
    return absl::StrCat("refused, the job goes on as it was; the file has mistakes:\n",
                        wanted.status().message());
  }
  const std::string all = Difference(running, *wanted);
  if (all.empty()) return "";
  if (OfAnotherPlace(running, *wanted)) {
    return absl::StrCat(
        "another job, which belongs in a release of its own; this one goes on as it was:\n", all);
  }
  const std::string serious = JobDifference(running, *wanted);
  if (serious.empty()) {
    return absl::StrCat("taken up when the chief is started again; nothing is lost by that:\n",
                        all);
  }
  return absl::StrCat(
      "refused, the job goes on as it was; --fresh-once (chart: chief.freshStart) "
      "starts over with it, another job name begins beside it:\n",
      serious);
}

}  // namespace capstan::chief
