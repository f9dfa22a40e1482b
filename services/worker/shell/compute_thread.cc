#include "worker/shell/compute_thread.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "worker/shell/compute.h"

namespace capstan::worker {

ComputeThread::ComputeThread(std::unique_ptr<Network> network, ComputeOptions options,
                             EventLoop& loop)
    : network_(std::move(network)), options_(options), loop_(loop), thread_([this] { Run(); }) {}

ComputeThread::~ComputeThread() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void ComputeThread::Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) {
  absl::MutexLock lock(&mu_);
  jobs_.push_back({std::move(step), kind, std::move(done)});
}

void ComputeThread::Run() {
  absl::Time idle_from = SteadyClock().Now();
  for (;;) {
    Job job;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &ComputeThread::HasWork));
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.step->marks.idle_from = idle_from;
    Compute(job);
    idle_from = SteadyClock().Now();
    // The closure takes the step along, so that it is let go of on the event loop.
    loop_.Post([step = std::move(job.step), done = std::move(job.done)]() mutable { done(); });
  }
}

void ComputeThread::Compute(Job& job) {
  const absl::Time began = SteadyClock().Now();
  job.step->marks.compute_began = began;
  if (job.kind == Kind::kGradients) {
    ComputeGradients(*network_, options_.clip_norm, *job.step);
  } else {
    ComputeLogits(*network_, *job.step);
  }
  const absl::Duration took = SteadyClock().Now() - began;
  absl::SleepFor(std::max(absl::ZeroDuration(), options_.min_step - took));
  job.step->compute_time = SteadyClock().Now() - began;
}

}  // namespace capstan::worker
