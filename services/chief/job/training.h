// Who trains and evaluates what, how far that is, and where it stands still.
#ifndef CAPSTAN_CHIEF_JOB_TRAINING_H_
#define CAPSTAN_CHIEF_JOB_TRAINING_H_

#include "absl/time/time.h"
#include "capstan/security/seal.h"
#include "capstan/v1/checkpoint.pb.h"
#include "chief/machines/early_stop.h"
#include "chief/machines/end_sequence.h"
#include "chief/machines/round_barrier.h"
#include "chief/machines/stream_closes.h"
#include "chief/state/chief_options.h"
#include "chief/state/membership.h"
#include "chief/work/accusations.h"
#include "chief/work/bad_record_count.h"
#include "chief/work/evaluation.h"
#include "chief/work/progress.h"
#include "chief/work/stragglers.h"
#include "chief/work/work.h"

namespace capstan::chief {

// Thread-compatible.
struct Training {
  Training(const ChiefOptions& options, const JobPlan& plan, absl::Time now);

  // Leases of training are taken back: at the job's end, and before an evaluation at a
  // standstill.
  bool LeasesTakenBack() const;
  // Training stands still as far as an evaluation or a checkpoint needs it.
  bool AtStandstill() const;
  bool EvaluationDue() const;
  v1::TaskProgress ProgressOfNow() const;

  // REQUIRES: no evaluation is running.
  void BeginEvaluation(bool at_barrier, bool final, absl::Time now);
  // Until JobContext::Drained() somebody may still push by one of the leases.
  void TakeLeasesBack();

  Sealer sealer;
  Membership workers;
  Stragglers stragglers;
  Work work;
  Evaluations evaluations;
  EarlyStopper early_stop;
  Progress progress;
  BadRecordCount bad_records;
  Accusations accusations;
  StreamCloses closes;
  RoundBarrier barrier;
  Standstill standstill;
  EndSequence end;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_TRAINING_H_
