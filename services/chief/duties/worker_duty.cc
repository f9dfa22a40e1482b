#include "chief/duties/worker_duty.h"

#include "capstan/base/status.h"
#include "chief/duties/check_wire_version.h"

namespace capstan::chief {

absl::StatusOr<Membership::Registration> WorkerDuty::Register(
    const v1::RegisterWorkerRequest& request, const std::string& peer, absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  CAPSTAN_ASSIGN_OR_RETURN(Membership::Registration registration,
                           job_->training.workers.Register(request, peer, now));
  job_->training.end.draining.erase(request.name());
  if (registration.is_new) {
    job_->outbox.Log(
        LogEvent::Level::kInfo, "worker registered",
        {{"worker", request.name()}, {"replaces", registration.replaced.empty() ? "no" : "yes"}});
  }
  return registration;
}

v1::RegisterWorkerReply WorkerDuty::Welcome(const Worker& worker) const {
  v1::RegisterWorkerReply reply;
  *reply.mutable_job() = job_->plan.spec;
  for (const Trainer& trainer : worker.trainers) reply.add_trainers(Raw(trainer.id));
  return reply;
}

Worker* WorkerDuty::Hear(const v1::WorkerHeartbeatRequest& request, absl::Time now) {
  if (job_->writer.superseded()) return nullptr;
  Worker* worker = job_->training.workers.Find(request);
  if (worker == nullptr) return nullptr;
  job_->training.workers.Hear(*worker, request, now);
  job_->takeover.OnReport(worker->name);
  job_->placement.views.ForgetTrainers(worker->name);
  return worker;
}

void WorkerDuty::FillReply(v1::WorkerHeartbeatReply& reply) const {
  if (job_->writer.superseded()) return reply.set_known(true);
  reply.set_state(job_->told_state());
  reply.set_trainers(job_->training.workers.trainers());
  reply.set_examples(job_->training.progress.examples());
  reply.set_examples_seal(job_->training.sealer.OfExamples(job_->placement.timeline(),
                                                           job_->training.progress.examples()));
}

}  // namespace capstan::chief
