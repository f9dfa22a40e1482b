// One batch on its way through a training step, and the memory that this needs. Step objects are
// used again, so that a worker allocates nothing once it is warm.
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
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/deduplicate.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/frozen_tensors.h"
#include "worker/shell/idle_time.h"

namespace capstan::worker {

// The rows of one table that a batch needs.
struct StepTable {
  // The distinct keys of the batch in this table: those of the table's features, one feature after
  // another, then those of the batch's negatives. If the job names no features, the keys of its
  // records.
  UniqueKeys keys;

  // Pulled: a row for each unique key, and its version, where rows have versions. Empty before the
  // step is lent room (StepPool::Lend).
  std::vector<float> rows;
  std::vector<uint32_t> row_versions;

  std::vector<float> row_gradients;  // Computed.

  std::vector<float> kept_rows;  // See Step::KeepPulled.

  // Exchanges all but the keys with `other`.
  void SwapValues(StepTable& other);
};

// Written by one thread at a time: by the event loop, and between Compute and Computed by the
// thread that computes the step.
struct Step {
  explicit Step(const ParameterMap& map) : plan(map) {}

  // Copies the rows and parameters that were pulled, as the user's program may write to both, and a
  // push that is compensated says by which of them its gradient was computed.
  void KeepPulled();

  std::shared_ptr<const Batch> batch;  // Shared with the prefetcher's feed.
  StreamId stream;   // With `seq`, names the batch within the whole job, whoever works on it.
  uint64_t seq = 0;  // whoever works on it.
  std::vector<StepTable> tables;      // The job's tables, or one without rows if it has none.
  std::vector<size_t> feature_begin;  // Where a feature's keys begin in its table's `keys.index`.
  size_t negatives_begin = 0;         // The same for the batch's negatives.
  RequestPlan plan;

  // Pulled: all tensors, flat, and the versions that the partitions had.
  std::vector<float> parameters;
  PartitionVersions versions;
  bool keeps_pulled = false;  // KeepPulled was called for this batch.
  std::vector<float> kept_parameters;
  // `parameters` holds the frozen tensors of this timeline, so they need not be pulled again in it.
  std::optional<Timeline> frozen_of;

  // Which partitions have answered a pull or a push that failed in part; its repetition leaves them
  // out.
  AnsweredPartitions pulled;
  AnsweredPartitions pushed;

  // Computed.
  double loss_sum = 0;
  double gradient_norm = 0;
  bool nonfinite = false;
  bool clipped = false;  // Its gradient was longer than `clip_norm`.
  std::vector<float> parameter_gradients;
  std::vector<float> logits;  // Evaluation only.
  bool has_room = false;      // For what is pulled and computed.
  // Set instead of a result: the user's program failed.
  std::optional<v1::UserCodeError> user_code;

  // For measuring how long each phase takes.
  StepMarks marks;
  absl::Time push_began = absl::InfinitePast();
  absl::Duration compute_time;
};

// Makes steps, and keeps those that are not in use. A step returns to the pool when the last of its
// owners (a lease, a call under way, the user's program) lets go of it: this may happen on any
// thread, and even after the pool is gone. Otherwise confined to the event loop.
class StepPool {
 public:
  // `map` must outlive the pool and all its steps. `table_of_feature`: for each of data.features
  // the index of its table in map.tables() (TablesOfFeatures); if empty, all keys belong to the
  // first table.
  explicit StepPool(const ParameterMap& map, std::vector<size_t> table_of_feature = {})
      : map_(map), table_of_feature_(std::move(table_of_feature)), frozen_(map) {}

  // Returns a step for `batch`: its duplicate keys are removed, and its requests are planned and
  // routed to the partitions' `owners`. The lease's runner and the calls under way for the step
  // share it.
  std::shared_ptr<Step> Take(std::shared_ptr<const Batch> batch, absl::Span<const uint32_t> owners);

  // Gives the step room for all tensors and for the rows of its batch, unless it has room already,
  // and the frozen tensors of `timeline`, if another step has pulled them. To be called just before
  // the step is pulled, so that batches that are only read ahead hold no copy of what they train.
  void Lend(Step& step, Timeline timeline);

  // Everything that the step needs has been pulled, in `timeline`.
  void OnPulled(Step& step, Timeline timeline);

 private:
  struct Room {
    std::vector<float> parameters;
    std::vector<float> gradients;
    std::vector<float> kept;            // As Step::kept_parameters.
    std::optional<Timeline> frozen_of;  // As Step::frozen_of.
    std::vector<StepTable> tables;      // Without their keys.
  };
  static void Move(Room& room, Step& step);

  // Keeps steps, and the room that they were lent, that are not in use. Thread-safe.
  class Shelf {
   public:
    std::unique_ptr<Step> TakeStep();  // Without room; null if the shelf is empty.
    std::optional<Room> TakeRoom();
    void PutBack(std::unique_ptr<Step> step);

   private:
    absl::Mutex mu_;
    std::vector<std::unique_ptr<Step>> steps_ ABSL_GUARDED_BY(mu_);
    std::vector<Room> rooms_ ABSL_GUARDED_BY(mu_);
  };

  std::shared_ptr<Step> TakeFree();
  void Deduplicate(Step& step);

  const ParameterMap& map_;
  const std::vector<size_t> table_of_feature_;
  std::vector<uint64_t> gathered_;  // Scratch of Deduplicate.
  Deduplicator deduplicator_;
  FrozenTensors frozen_;
  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();  // Shared with steps in use.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_H_
