// Who trains and evaluates what, how far training is, and whether it stands still.
#ifndef CAPSTAN_CHIEF_JOB_TRAINING_H_
#define CAPSTAN_CHIEF_JOB_TRAINING_H_

#include <cstdint>
#include <optional>
#include <vector>

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

  // Returns true while training leases are revoked and none is granted: at the job's end and, in
  // jobs without lanes, at a standstill or on the way to one.
  bool LeasesTakenBack() const;
  // Returns true if training stands still: at a round barrier or, without lanes, once aggregation
  // queues are flushed.
  bool AtStandstill() const;
  bool EvaluationDue() const;
  v1::TaskProgress ProgressOfNow() const;

  // Begins an evaluation of the present parameters. REQUIRES: no evaluation is running.
  void BeginEvaluation(bool at_barrier, bool final, absl::Time now);
  // The job continues at `examples` (see Evaluations::Restore). Early stopping is computed again
  // from the evaluations in `history` that remain and have measured the present held-out records.
  void RestoreEvaluations(std::vector<v1::Evaluation> history,
                          std::optional<v1::Evaluation> given_up, uint64_t examples);
  // Revokes all training leases. Until JobContext::Drained() a worker may still push under one of
  // them.
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
