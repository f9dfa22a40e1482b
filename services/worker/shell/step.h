// One batch on its way through a step, and the memory it needs. Steps are used again, so that a
// worker allocates nothing once it is warm.
#ifndef CAPSTAN_WORKER_SHELL_STEP_H_
#define CAPSTAN_WORKER_SHELL_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/client/ps_client.h"
#include "capstan/client/request_plan.h"
#include "capstan/data/feed/deduplicate.h"
#include "capstan/data/formats/batch.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/frozen_tensors.h"
#include "worker/shell/idle_time.h"

namespace capstan::worker {

// The rows of one table that a batch needs.
struct StepTable {
  // Those of the table's features, feature by feature, and behind them of the batch's negatives; or
  // of all of a record's.
  UniqueKeys keys;

  // Pulled: a row for each unique key, and their versions, where rows have versions.
  std::vector<float> rows;
  std::vector<uint32_t> row_versions;

  std::vector<float> row_gradients;  // Computed.
};

// Written by one thread at a time: the event loop, or between Compute and Computed the compute
// thread.
struct Step {
  explicit Step(const ParameterMap& map) : plan(map) {}

  std::shared_ptr<const Batch> batch;  // Shared with the prefetcher's feed.
  StreamId stream;                     // The batch's name among all of the job,
  uint64_t seq = 0;                    // whoever works on it.
  std::vector<StepTable> tables;       // Those of the job, or one without rows.
  std::vector<size_t> feature_begin;   // Where a feature's keys begin in its table's `keys.index`.
  size_t negatives_begin = 0;          // The same of the batch's negatives.
  RequestPlan plan;

  // Pulled: all tensors, and the versions that the partitions had.
  std::vector<float> parameters;
  PartitionVersions versions;
  // The timeline of which `parameters` has the frozen tensors, which are not pulled again then.
  std::optional<Timeline> frozen_of;

  // Which partitions have answered pulls and pushes that failed in part and are to be repeated.
  AnsweredPartitions pulled;
  AnsweredPartitions pushed;

  // Computed.
  double loss_sum = 0;
  double gradient_norm = 0;
  bool nonfinite = false;
  bool clipped = false;  // Its gradient was longer than `clip_norm`.
  std::vector<float> parameter_gradients;
  std::vector<float> logits;                   // Evaluation only.
  std::optional<v1::UserCodeError> user_code;  // In place of a result: the user's program failed.

  // For the phases' times.
  StepMarks marks;
  absl::Time push_began = absl::InfinitePast();
  absl::Duration compute_time;
};

// Makes steps, and keeps those that are not in use. A step goes back when the last of its owners, a
// lease, a call under way or the user's program, lets go of it: on any thread, also after the pool
// has gone. Otherwise confined to the event loop.
class StepPool {
 public:
  // `map` must outlive the pool, and whatever plans with a step of it. `table_of_feature`: the
  // place in map.tables() of each of data.features; without features all keys are the first
  // table's.
  explicit StepPool(const ParameterMap& map, std::vector<size_t> table_of_feature = {})
      : map_(map), table_of_feature_(std::move(table_of_feature)), frozen_(map) {}

  // A step for this batch: duplicates removed, planned, routed to the partitions' owners, with room
  // for the rows that are pulled. Shared by the lease's runner and the calls under way for it.
  std::shared_ptr<Step> Take(std::shared_ptr<const Batch> batch, absl::Span<const uint32_t> owners);

  // Gives the step room for all tensors, unless it has it, and the frozen ones of this timeline, if
  // another step has pulled them. To be called before it is pulled for: batches that are read ahead
  // need no copy of the model.
  void LendDense(Step& step, Timeline timeline);

  // All that the step needs has been pulled, in this timeline.
  void OnPulled(Step& step, Timeline timeline);

 private:
  struct Dense {
    std::vector<float> parameters;
    std::vector<float> gradients;
    std::optional<Timeline> frozen_of;  // As Step's.
  };

  // Keeps steps and their dense parameters that are not in use. Thread-safe.
  class Shelf {
   public:
    std::unique_ptr<Step> TakeStep();  // Without room for tensors; null: there is none.
    std::optional<Dense> TakeDense();
    void PutBack(std::unique_ptr<Step> step);

   private:
    absl::Mutex mu_;
    std::vector<std::unique_ptr<Step>> steps_ ABSL_GUARDED_BY(mu_);
    std::vector<Dense> dense_ ABSL_GUARDED_BY(mu_);
  };

  std::shared_ptr<Step> TakeFree();
  // Finds the distinct keys of each table.
  void Deduplicate(Step& step);

  const ParameterMap& map_;
  const std::vector<size_t> table_of_feature_;
  std::vector<uint64_t> gathered_;  // Scratch of Deduplicate.
  Deduplicator deduplicator_;
  FrozenTensors frozen_;
  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();  // Shared with steps in use.
};

// For StepPool: the place of each feature's table among job.tables.
std::vector<size_t> TablesOfFeatures(const v1::JobSpec& job);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_H_
