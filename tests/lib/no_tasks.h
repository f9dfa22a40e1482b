// A feed for a lease that has no tasks.
#ifndef CAPSTAN_TESTS_LIB_NO_TASKS_H_
#define CAPSTAN_TESTS_LIB_NO_TASKS_H_

#include <cstdint>
#include <vector>

#include "worker/session/lease_lifecycle.h"

namespace capstan::worker {

class NoTasks final : public TasksRead {
 public:
  std::vector<v1::LaneTaskDone> TakeDone(uint64_t) override { return {}; }
  bool HasDone(uint64_t) const override { return false; }
  uint64_t tasks_known() const override { return 0; }
  FedTask OnlyTask() const override { return {}; }
};

}  // namespace capstan::worker

#endif  // CAPSTAN_TESTS_LIB_NO_TASKS_H_
