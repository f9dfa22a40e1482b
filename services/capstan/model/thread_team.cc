#include "capstan/model/thread_team.h"

namespace capstan {

ThreadTeam::ThreadTeam(size_t size) {
  for (size_t member = 1; member < size; ++member) {
    helpers_.emplace_back([this, member] { Help(member); });
  }
}

ThreadTeam::~ThreadTeam() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::Run(Work work) {
  {
    absl::MutexLock lock(&mu_);
    work_ = &work;
    working_ = helpers_.size();
    ++runs_;
  }
  work(0);
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(
      +[](size_t* working) { return *working == 0; }, &working_));
  work_ = nullptr;
}

void ThreadTeam::Help(size_t member) {
  for (uint64_t done = 0;; ++done) {
    Work* work;
    {
      absl::MutexLock lock(&mu_);
      const auto begun = [this, done]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        return stopping_ || runs_ > done;
      };
      mu_.Await(absl::Condition(&begun));
      if (stopping_) return;
      work = work_;
    }
    (*work)(member);
    absl::MutexLock lock(&mu_);
    --working_;
  }
}

}  // namespace capstan
