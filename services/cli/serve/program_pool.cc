#include "cli/serve/program_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kGlance = absl::Milliseconds(100);  // Between two looks at the processes.
// The first pause before a failed start is tried again,
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Seconds(30);  // and the longest one.

}  // namespace

absl::StatusOr<std::unique_ptr<ProgramPool>> ProgramPool::Start(const FinishedModel& model,
                                                                ProgramOptions options) {
  std::unique_ptr<ProgramPool> pool(new ProgramPool(model, std::move(options)));
  pool->begun_.WaitForNotification();
  absl::MutexLock lock(&pool->mu_);
  if (!pool->failure_.ok()) return pool->failure_;
  return pool;
}

ProgramPool::ProgramPool(const FinishedModel& model, ProgramOptions options)
    : model_(model), options_(std::move(options)), thread_([this] { Run(); }) {}

ProgramPool::~ProgramPool() {
  ends_.Notify();
  thread_.join();
}

bool ProgramPool::ready() const {
  absl::MutexLock lock(&mu_);
  return alive_ > 0;
}

absl::StatusOr<std::vector<float>> ProgramPool::Logits(const Batch& batch) {
  if (batch.examples() == 0) return std::vector<float>();
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ServingProgram> program, Take());
  absl::StatusOr<std::vector<float>> logits = program->Logits(batch, options_.patience);
  Give(std::move(program));
  return logits;
}

absl::StatusOr<std::unique_ptr<ServingProgram>> ProgramPool::Take() {
  absl::MutexLock lock(&mu_);
  const auto settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !free_.empty() || (alive_ == 0 && !failure_.ok());
  };
  if (!mu_.AwaitWithTimeout(absl::Condition(&settled), options_.patience)) {
    return absl::UnavailableError(absl::StrCat("no process of the program was free within ",
                                               absl::FormatDuration(options_.patience)));
  }
  if (free_.empty()) {
    return absl::UnavailableError(
        absl::StrCat("the program cannot be started: ", failure_.message()));
  }
  std::unique_ptr<ServingProgram> program = std::move(free_.back());
  free_.pop_back();
  return program;
}

void ProgramPool::Give(std::unique_ptr<ServingProgram> program) {
  absl::MutexLock lock(&mu_);
  if (program->lost()) --alive_;
  (program->lost() ? lost_ : free_).push_back(std::move(program));
}

void ProgramPool::Run() {
  absl::Status started;
  while (started.ok() && !complete()) started = StartOne();
  begun_.Notify();
  absl::Duration pause = kFirstPause;
  absl::Time next = absl::InfinitePast();
  while (!ends_.WaitForNotificationWithTimeout(kGlance)) {
    EndLost();
    if (complete() || SteadyClock().Now() < next) continue;
    if (const absl::Status again = StartOne(); again.ok()) {
      pause = kFirstPause;
    } else if (!absl::IsCancelled(again)) {
      options_.tell(absl::StrCat("the program cannot be started: ", again.message()));
      next = SteadyClock().Now() + pause;
      pause = std::min(2 * pause, kLongestPause);
    }
  }
  // Destroyed here, as the thread that has started the processes must end them.
  std::vector<std::unique_ptr<ServingProgram>> all;
  absl::MutexLock lock(&mu_);
  all.swap(free_);
  std::move(lost_.begin(), lost_.end(), std::back_inserter(all));
  lost_.clear();
}

absl::Status ProgramPool::StartOne() {
  absl::StatusOr<std::unique_ptr<ServingProgram>> program =
      ServingProgram::Start(options_.command, model_, ends_);
  absl::MutexLock lock(&mu_);
  failure_ = program.status();
  if (!program.ok()) return failure_;
  ++alive_;
  free_.push_back(*std::move(program));
  return absl::OkStatus();
}

// Ends processes that have failed a request, and those that have ended while they were free.
void ProgramPool::EndLost() {
  std::vector<std::unique_ptr<ServingProgram>> ended;
  {
    absl::MutexLock lock(&mu_);
    ended.swap(lost_);
    const auto gone = std::partition(free_.begin(), free_.end(),
                                     [](const auto& program) { return !program->ended(); });
    alive_ -= static_cast<int>(free_.end() - gone);
    std::move(gone, free_.end(), std::back_inserter(ended));
    free_.erase(gone, free_.end());
  }
  for (const std::unique_ptr<ServingProgram>& program : ended) {
    options_.tell(absl::StrCat("the program ", program->HowItEnded(), ", and is started again"));
  }
}

bool ProgramPool::complete() const {
  absl::MutexLock lock(&mu_);
  return alive_ >= options_.processes;
}

}  // namespace capstan::cli
