#include "worker/shell/trainer.h"

#include <utility>

#include "worker/machines/runners.h"

namespace capstan::worker {

Trainer::Trainer(const WorkerContext& worker, TrainerId id,
                 std::shared_ptr<ProcessChannels> channels, std::unique_ptr<Computer> computer)
    : id_(id),
      client_(worker.loop, worker.parameters,
              {.trainer = id,
               .dtype = worker.job.train().wire_dtype(),
               .channels = std::move(channels)}),
      computer_(std::move(computer)),
      turns_(worker.parameters.layout().flat_size() * sizeof(float), OrderOfTurns(worker.job)),
      shared_pulls_(worker.loop),
      shared_{.clock = clock_,
              .turns = turns_,
              .waiting_opens = worker.waiting_opens,
              .read_ahead = worker.read_ahead},
      context_{.job = worker.job,
               .parameters = worker.parameters,
               .clock = worker.clock,
               .loop = worker.loop,
               .client = client_,
               .compute = *computer_,
               .prefetcher = worker.prefetcher,
               .steps = worker.steps,
               .shared_pulls = shared_pulls_,
               .grouped = worker.grouped,
               .times = times_,
               .progress = worker.progress,
               .metrics = worker.metrics},
      leases_(id, clock_, [this](const v1::Lease& lease) {
        return std::make_unique<LeaseRunner>(context_.job, lease, shared_,
                                             std::make_unique<LeaseCalls>(context_, lease));
      }) {}

void Trainer::OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) {
  if (client_.SetView(view)) leases_.OnView(view, restarted);
}

}  // namespace capstan::worker
