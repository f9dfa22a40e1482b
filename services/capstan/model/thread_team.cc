#include "capstan/model/thread_team.h"

namespace capstan {

ThreadTeam::ThreadTeam(size_t size) {
  for (size_t member = 1; member < size; ++member) helpers_.emplace_back([this] { Help(); });
}

ThreadTeam::~ThreadTeam() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::Run(size_t pieces, Work work) {
  absl::MutexLock lock(&mu_);
  work_ = &work;
  pieces_ = pieces;
  next_ = 0;
  done_ = 0;
  DoPieces();
  const auto all_done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return done_ == pieces_; };
  mu_.Await(absl::Condition(&all_done));
}

void ThreadTeam::Help() {
  absl::MutexLock lock(&mu_);
  for (;;) {
    const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return stopping_ || next_ < pieces_;
    };
    mu_.Await(absl::Condition(&wanted));
    if (stopping_) return;
    DoPieces();
  }
}

void ThreadTeam::DoPieces() {
  while (next_ < pieces_) {
    const size_t piece = next_++;
    Work& work = *work_;
    mu_.Unlock();
    work(piece);
    mu_.Lock();
    ++done_;
  }
}

}  // namespace capstan
