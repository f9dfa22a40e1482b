#include "chief/shell/store_thread.h"

#include <utility>

namespace capstan::chief {

StoreThread::StoreThread(size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { Run(); }) {}

StoreThread::~StoreThread() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

bool StoreThread::Post(Job job) {
  absl::MutexLock lock(&mu_);
  if (waiting_.size() >= most_waiting_) return false;
  waiting_.push_back(std::move(job));
  return true;
}

void StoreThread::Run() {
  for (;;) {
    Job job;
    {
      absl::MutexLock lock(&mu_);
      const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        return ending_ || !waiting_.empty();
      };
      mu_.Await(absl::Condition(&due));
      if (waiting_.empty()) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    job();
  }
}

}  // namespace capstan::chief
