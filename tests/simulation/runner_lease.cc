#include "tests/simulation/runner_lease.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::simulation {

std::vector<v1::LaneTaskDone> OneTaskRead::TakeDone(uint64_t cursor) {
  if (!HasDone(cursor)) return {};
  taken_ = true;
  std::vector<v1::LaneTaskDone> done(1);
  done[0].set_batches(batches_);
  done[0].set_examples(examples_);
  return done;
}

FedTask OneTaskRead::OnlyTask() const {
  return {.loaded = true, .batches = batches_, .examples = examples_};
}

RunnerLease::RunnerLease(const v1::Lease& lease, const OneTaskRead& task,
                         std::unique_ptr<worker::RunnerMachine> machine)
    : task(task), lifecycle(lease, /*max_rounds=*/0, std::move(machine), this->task) {}

RunnerLease::RunnerLease(const RunnerLease& other)
    : task(other.task), lifecycle(other.lifecycle, task), taken_back(other.taken_back) {}

std::string RunnerLease::Text() const {
  return absl::StrCat(lifecycle.DebugString(), task.taken() ? " told" : "");
}

}  // namespace capstan::simulation
