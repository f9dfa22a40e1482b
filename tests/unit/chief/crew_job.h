// The jobs of the tests of the chief: what a test says of one, and the plan that the chief is
// given.
#ifndef CAPSTAN_TESTS_UNIT_CHIEF_CREW_JOB_H_
#define CAPSTAN_TESTS_UNIT_CHIEF_CREW_JOB_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "capstan/v1/job.pb.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// A job of `tasks` tasks with 2 batches of 10 examples each.
struct CrewOptions {
  uint32_t tasks = 4;
  uint32_t eval_tasks = 0;
  std::string eval_file = "test.csv";
  uint32_t epochs = 1;
  uint32_t shards = 2;
  uint32_t threads = 1;
  uint32_t lanes = 0;  // 0: asynchronous.
  bool ssp = false;
  bool partial = false;  // recovery: partial.
  uint32_t replicas = 0;
  double shard_lease = 10;  // Seconds.
  bool shuffle = false;
  bool counted = true;  // It is known how many records the tasks have.
  bool text = false;    // Tasks are bytes of a text, their records estimated from a sample.
  std::string uri;
  double checkpoint_every = 0;  // Seconds.
  uint32_t keep = 3;
  uint32_t max_deltas = 0;
  uint64_t max_steps = 0;
  uint64_t max_bad_records = 0;
  uint64_t evaluate_every = 0;
  double data_stall = 0;  // Seconds; 0: no worker is ever stuck.
  size_t move_batch = 16;
  int64_t dense_floats = 0;   // With SGD.
  uint64_t shard_memory = 0;  // Of each shard; 0: it does not say.
  uint64_t keys_a_batch = 0;  // Of rows of 16 floats.
  UnnumberedShards unnumbered_shards = UnnumberedShards::kUntilNumbered;
  uint32_t aggregate = 0;  // Gradients of rows that are applied together; 0: each alone.
  v1::EarlyStop early_stop;
};

// A job of 10 tasks that keeps checkpoints.
inline CrewOptions TenTasks(uint32_t lanes = 0) {
  return {.tasks = 10, .lanes = lanes, .uri = "/models", .checkpoint_every = 60};
}

JobPlan PlanOf(const CrewOptions& options);

// What the store holds of a job that begins: nothing, where it has no folder.
JobHistory NewHistory(const CrewOptions& options);

// How many examples a batch has, and how many batches a task.
inline constexpr uint32_t kCrewBatchSize = 10;
inline constexpr uint64_t kCrewBatches = 2;

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_UNIT_CHIEF_CREW_JOB_H_
