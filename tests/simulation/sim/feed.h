// The batches of one lease, as worker/shell/batch_feed hands them out, read from its tasks.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_FEED_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_FEED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "tests/simulation/sim/job.h"
#include "worker/session/lease_lifecycle.h"

namespace capstan::sim {

class Feed final : public worker::TasksRead {
 public:
  // `job` must outlive the feed.
  Feed(const Job& job, const v1::Lease& lease);

  // Further tasks of the lane.
  void Extend(const v1::Lease& lease);

  struct Item {
    bool end = false;
    uint64_t batches = 0;  // With end: of the task, or the lane.
    NamedBatch batch;
  };
  // Batch `number`. Nothing: its task is not known yet.
  std::optional<Item> At(uint64_t number);

  std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) override;
  bool HasDone(uint64_t cursor) const override;
  uint64_t tasks_known() const override { return next_ordinal_; }
  FedTask OnlyTask() const override;
  bool complete() const { return complete_; }

 private:
  struct Task {
    uint64_t ordinal = 0;
    TaskContent content;
  };
  void Append(uint64_t ordinal, uint32_t epoch, const v1::Task& task);

  const Job& job_;
  const bool evaluation_;
  std::vector<Task> tasks_;
  bool complete_ = false;
  std::optional<uint64_t> base_;  // Number of the first batch.
  uint64_t next_ordinal_ = 0;
  size_t told_ = 0;
  uint64_t told_cursor_ = 0;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_FEED_H_
