// What a chief has told its workers, as a fuzzer remembers it: so that an input need not know the
// numbers by which a worker is believed, and to see that leases go to those who may have them.
#ifndef CAPSTAN_TESTS_FUZZ_KNOWN_WORKERS_H_
#define CAPSTAN_TESTS_FUZZ_KNOWN_WORKERS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Thread-compatible.
class KnownWorkers {
 public:
  // The chief has answered so. REQUIRES: it has given the worker numbers for its trainers.
  void Register(const v1::RegisterWorkerRequest& request, const v1::RegisterWorkerReply& reply) {
    Worker& worker = workers_[request.name()];
    worker.incarnation = request.incarnation();
    worker.trainers.assign(reply.trainers().begin(), reply.trainers().end());
  }

  // A heartbeat without an incarnation becomes that of the worker of its name, if there is one: its
  // trainers have their numbers, and its reports are of leases that it has been given.
  void Complete(v1::WorkerHeartbeatRequest& request) const {
    const auto found = workers_.find(request.name());
    if (request.incarnation() != 0 || found == workers_.end()) return;
    const Worker& worker = found->second;
    request.set_incarnation(worker.incarnation);
    const int trainers = static_cast<int>(worker.trainers.size());
    while (request.trainers_size() > trainers) request.mutable_trainers()->RemoveLast();
    while (request.trainers_size() < trainers) request.add_trainers()->set_wants_lease(true);
    for (int i = 0; i < trainers; ++i) {
      request.mutable_trainers(i)->set_trainer(worker.trainers[static_cast<size_t>(i)]);
    }
    for (int i = 0; i < request.leases_size() && !worker.leases.empty(); ++i) {
      Name(worker.leases[static_cast<size_t>(i) % worker.leases.size()],
           *request.mutable_leases(i));
    }
  }

  // Takes in the answer. Dies if it gives leases to others than the trainers of the process that
  // has registered by this name, or one that is of another trainer.
  void Hear(const v1::WorkerHeartbeatRequest& request, const v1::WorkerHeartbeatReply& reply) {
    if (reply.leases().empty()) return;
    CAPSTAN_CHECK(reply.known());
    const auto found = workers_.find(request.name());
    CAPSTAN_CHECK(found != workers_.end() && found->second.incarnation == request.incarnation());
    Worker& worker = found->second;
    for (const v1::Lease& lease : reply.leases()) {
      CAPSTAN_CHECK(std::find(worker.trainers.begin(), worker.trainers.end(), lease.trainer()) !=
                    worker.trainers.end());
      const std::pair generation(lease.generation().term(), lease.generation().count());
      const auto holder = holders_.emplace(generation, lease.trainer()).first;
      CAPSTAN_CHECK(holder->second == lease.trainer());
      worker.leases.push_back(lease);
    }
  }

 private:
  struct Worker {
    uint64_t incarnation = 0;
    std::vector<uint64_t> trainers;
    std::vector<v1::Lease> leases;  // All that it has been given.
  };

  static void Name(const v1::Lease& lease, v1::LeaseReport& report) {
    *report.mutable_generation() = lease.generation();
    report.set_kind(lease.kind());
    report.set_timeline(lease.timeline());
    report.set_trainer(lease.trainer());
    report.set_lane(lease.lane());
    if (lease.kind() == v1::LEASE_KIND_TASK) {
      report.set_stream(StreamId::Task(lease.data_epoch(), lease.task().index()).value);
    }
  }

  std::map<std::string, Worker> workers_;                      // By name.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> holders_;  // Trainers by generation.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_FUZZ_KNOWN_WORKERS_H_
