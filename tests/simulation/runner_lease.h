// The lease of a runner in a world with the real chief: the worker's own bookkeeping of it, over
// data that are read as soon as they are asked for.
#ifndef CAPSTAN_TESTS_SIMULATION_RUNNER_LEASE_H_
#define CAPSTAN_TESTS_SIMULATION_RUNNER_LEASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "worker/machines/runner_machine.h"
#include "worker/session/lease_lifecycle.h"

namespace capstan::simulation {

// The one task that a lease is on, or that its lane has. Thread-compatible.
class OneTaskRead final : public worker::TasksRead {
 public:
  OneTaskRead(uint64_t batches, uint64_t examples) : batches_(batches), examples_(examples) {}

  std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) override;
  bool HasDone(uint64_t cursor) const override { return !taken_ && cursor >= batches_; }
  uint64_t tasks_known() const override { return 1; }
  FedTask OnlyTask() const override;

  bool taken() const { return taken_; }

 private:
  uint64_t batches_;
  uint64_t examples_;
  bool taken_ = false;
};

// Can be copied. Thread-compatible.
struct RunnerLease {
  RunnerLease(const v1::Lease& lease, const OneTaskRead& task,
              std::unique_ptr<worker::RunnerMachine> machine);
  RunnerLease(const RunnerLease& other);
  RunnerLease& operator=(const RunnerLease&) = delete;

  std::string Text() const;

  OneTaskRead task;
  worker::LeaseLifecycle lifecycle;
  bool taken_back = false;  // The chief has said so, even if that was not heard.
};

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_RUNNER_LEASE_H_
