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

  // Returns true while leases of training are taken back and none is granted: at the job's end,
  // and, in jobs without lanes, at a standstill or on the way to one.
  bool LeasesTakenBack() const;
  // Returns true if training stands still: at a round barrier, or, without lanes, once queues are
  // emptied.
  bool AtStandstill() const;
  bool EvaluationDue() const;
  v1::TaskProgress ProgressOfNow() const;

  // Begins an evaluation of the present parameters. REQUIRES: no evaluation is running.
  void BeginEvaluation(bool at_barrier, bool final, absl::Time now);
  // The job goes on at `examples` (Evaluations::Restore): early stopping goes by the evaluations of
  // `history` that are left and have measured the held-out records of now.
  void RestoreEvaluations(std::vector<v1::Evaluation> history,
                          std::optional<v1::Evaluation> given_up, uint64_t examples);
  // Takes all leases of training back. Until JobContext::Drained() a worker may still push by one
  // of them.
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
