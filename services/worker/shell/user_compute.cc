#include "worker/shell/user_compute.h"

#include <utility>

namespace capstan::worker {

std::optional<UserSteps::Taken> UserSteps::Take(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithTimeout(absl::Condition(this, &UserSteps::HasWork), timeout);
  if (closed_ || queue_.empty()) return std::nullopt;
  Taken taken = std::move(queue_.front());
  queue_.pop_front();
  taken.step->marks.idle_from = idle_from_;
  taken.step->marks.compute_began = clock_.Now();
  return taken;
}

void UserSteps::Finish(Taken taken) { (void)HandBack(std::move(taken)); }

void UserSteps::Fail(Taken taken, v1::UserCodeError error, absl::AnyInvocable<void()> then) {
  taken.step->user_code = std::move(error);
  const auto last = std::make_shared<absl::AnyInvocable<void()>>(std::move(then));
  taken.done = [done = std::move(taken.done), last]() mutable {
    done();
    (*last)();
  };
  if (!HandBack(std::move(taken))) (*last)();
}

bool UserSteps::HandBack(Taken taken) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  idle_from_ = now;
  const auto computer = computers_.find(taken.computer);
  if (computer == computers_.end()) return false;
  taken.step->compute_time = now - taken.step->marks.compute_began;
  computer->second->Post(
      [step = std::move(taken.step), done = std::move(taken.done)]() mutable { done(); });
  return true;
}

void UserSteps::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
  queue_.clear();
}

bool UserSteps::closed() const {
  absl::MutexLock lock(&mu_);
  return closed_;
}

uint64_t UserSteps::Join(EventLoop& loop) {
  absl::MutexLock lock(&mu_);
  computers_[++last_computer_] = &loop;
  return last_computer_;
}

void UserSteps::Leave(uint64_t computer) {
  absl::MutexLock lock(&mu_);
  computers_.erase(computer);
  std::erase_if(queue_, [computer](const Taken& queued) { return queued.computer == computer; });
}

void UserSteps::Add(uint64_t computer, std::shared_ptr<Step> step, Computer::Kind kind,
                    absl::AnyInvocable<void()> done) {
  Taken added;
  added.step = std::move(step);
  added.kind = kind;
  added.computer = computer;
  added.done = std::move(done);
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(added));
}

void UserCompute::Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) {
  steps_.Add(id_, std::move(step), kind, std::move(done));
}

}  // namespace capstan::worker
