#include "capstan/base/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace capstan {
namespace {

class Thread : public Background::Work {
 public:
  explicit Thread(absl::AnyInvocable<void()> work) : thread_(std::move(work)) {}
  ~Thread() override { thread_.join(); }

 private:
  std::thread thread_;
};

// The first version of the kernel's struct sched_attr, whose header cannot be included together
// with <sched.h>.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;  // SCHED_OTHER
  uint64_t flags = 0;
  int32_t niceness = 0;
  uint32_t priority = 0;
  uint64_t slice = 0;  // Nanoseconds; respected by Linux 6.12 and later.
  uint64_t deadline = 0;
  uint64_t period = 0;
};
constexpr uint64_t kShortestSlice = 100'000;

// Lowers the priority of the calling thread.
void BeGentle(int niceness) {
  const SchedulingAttributes wanted{.niceness = niceness, .slice = kShortestSlice};
  if (syscall(SYS_sched_setattr, 0, &wanted, 0) == 0) return;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness);
}

}  // namespace

void Background::SleepFor(absl::Duration length) { absl::SleepFor(length); }

absl::Status ForEach(size_t count, Background& background, int helpers,
                     absl::FunctionRef<absl::Status(size_t)> work) {
  std::atomic<size_t> next{0};
  absl::Mutex mu;
  absl::Status failure;  // Guarded by mu.
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) {
      absl::Status status = work(i);
      if (status.ok()) continue;
      next = count;
      absl::MutexLock lock(&mu);
      failure.Update(std::move(status));
    }
  };
  std::vector<std::unique_ptr<Background::Work>> others;
  for (int i = 0; i < helpers; ++i) others.push_back(background.Begin(take));
  take();
  others.clear();  // Waits until each has ended.
  return failure;
}

std::unique_ptr<Background::Work> Threads::Begin(absl::AnyInvocable<void()> work) {
  if (niceness_ == 0) return std::make_unique<Thread>(std::move(work));
  return std::make_unique<Thread>([niceness = niceness_, work = std::move(work)]() mutable {
    BeGentle(niceness);
    work();
  });
}

}  // namespace capstan
