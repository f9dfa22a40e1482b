#include "worker/shell/hang_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::worker {

std::optional<v1::UserCodeError> HangWatch::Look(absl::Duration limit, const std::string& program,
                                                 absl::AnyInvocable<void()> then) {
  if (limit <= absl::ZeroDuration()) return std::nullopt;
  const std::optional<UserSteps::Taken> overdue = steps_.Overdue(limit);
  if (!overdue) {
    absl::MutexLock lock(&mu_);
    hanging_.reset();
    return std::nullopt;
  }
  std::optional<v1::UserCodeError> error = Verdict(overdue->number, limit, program);
  if (!error || !steps_.Fail(*overdue, *error, std::move(then))) return std::nullopt;
  return error;
}

std::optional<v1::UserCodeError> HangWatch::Verdict(uint64_t step, absl::Duration limit,
                                                    const std::string& program) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  if (!hanging_ || hanging_->number != step) hanging_ = Hanging{.number = step, .since = now};
  if (!hanging_->told && now - hanging_->since < kForPlace) return std::nullopt;
  v1::UserCodeError error;
  if (hanging_->told) error = *hanging_->told;
  error.set_type("hangs");
  error.set_message(absl::StrCat("a step has taken longer than train.step_timeout, ",
                                 absl::FormatDuration(limit)));
  if (hanging_->told) return error;
  error.set_place(program);
  error.mutable_message()->append(
      "; where cannot be told, as it does not let go of the interpreter's lock");
  return error;
}

bool HangWatch::AwaitQuestion(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithTimeout(absl::Condition(this, &HangWatch::Asks), timeout);
  return Asks();
}

void HangWatch::Answer(std::string place, std::string stack) {
  absl::MutexLock lock(&mu_);
  if (!hanging_) return;
  v1::UserCodeError& told = hanging_->told.emplace();
  told.set_place(std::move(place));
  told.set_traceback(std::move(stack));
}

}  // namespace capstan::worker
