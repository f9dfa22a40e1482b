#include <string>

#include "chief/job_claim.h"
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

}  // namespace

std::string JobDifference(const v1::JobSpec& before, const v1::JobSpec& now) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  (void)differencer.Compare(WhatMatters(before), WhatMatters(now));
  return difference;
}

}  // namespace capstan::chief
