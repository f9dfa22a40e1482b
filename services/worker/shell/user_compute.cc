#include "worker/shell/user_compute.h"

#include <utility>

namespace capstan::worker {

std::optional<UserSteps::Taken> UserSteps::Take(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithTimeout(absl::Condition(this, &UserSteps::HasWork), timeout);
  if (closed_ || queue_.empty()) return std::nullopt;
  Submitted& submitted = taken_[++last_taken_];
  submitted = std::move(queue_.front());
  queue_.pop_front();
  submitted.step->marks.idle_from = idle_from_;
  submitted.step->marks.compute_began = clock_.Now();
  return Taken{.step = submitted.step, .kind = submitted.kind, .number = last_taken_};
}

void UserSteps::Finish(Taken taken, absl::AnyInvocable<void()> write) {
  std::optional<Submitted> back = TakeBack(taken);
  if (!back) return;
  back->done = [write = std::move(write), done = std::move(back->done)]() mutable {
    write();
    done();
  };
  (void)HandBack(*std::move(back));
}

bool UserSteps::Fail(Taken taken, v1::UserCodeError error, absl::AnyInvocable<void()> then) {
  std::optional<Submitted> back = TakeBack(taken);
  if (!back) return false;
  {
    absl::MutexLock lock(&mu_);
    failed_ = true;
  }
  back->step->user_code = std::move(error);
  const auto last = std::make_shared<absl::AnyInvocable<void()>>(std::move(then));
  back->done = [done = std::move(back->done), last]() mutable {
    done();
    (*last)();
  };
  if (!HandBack(*std::move(back))) (*last)();
  return true;
}

bool UserSteps::failed() const {
  absl::MutexLock lock(&mu_);
  return failed_;
}

std::optional<UserSteps::Taken> UserSteps::Overdue(absl::Duration limit) const {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  if (taken_.empty()) return std::nullopt;
  const auto& [number, first] = *taken_.begin();
  if (now - first.step->marks.compute_began < limit) return std::nullopt;
  return Taken{.step = first.step, .kind = first.kind, .number = number};
}

std::optional<UserSteps::Submitted> UserSteps::TakeBack(const Taken& taken) {
  absl::MutexLock lock(&mu_);
  const auto found = taken_.find(taken.number);
  if (found == taken_.end()) return std::nullopt;
  Submitted back = std::move(found->second);
  taken_.erase(found);
  return back;
}

bool UserSteps::HandBack(Submitted submitted) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  idle_from_ = now;
  const auto computer = computers_.find(submitted.computer);
  if (computer == computers_.end()) return false;
  submitted.step->compute_time = now - submitted.step->marks.compute_began;
  computer->second->Post(
      [step = std::move(submitted.step), done = std::move(submitted.done)]() mutable { done(); });
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
  std::erase_if(queue_,
                [computer](const Submitted& queued) { return queued.computer == computer; });
}

void UserSteps::Add(uint64_t computer, std::shared_ptr<Step> step, Computer::Kind kind,
                    absl::AnyInvocable<void()> done) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(
      {.step = std::move(step), .kind = kind, .computer = computer, .done = std::move(done)});
}

void UserCompute::Submit(std::shared_ptr<Step> step, Kind kind, absl::AnyInvocable<void()> done) {
  if (compensates_ && kind == Kind::kGradients) step->KeepPulled();
  steps_.Add(id_, std::move(step), kind, std::move(done));
}

}  // namespace capstan::worker
