#include "capstan/base/background.h"

#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace capstan {
namespace {

class Thread : public Background::Work {
 public:
  explicit Thread(absl::AnyInvocable<void()> work) : thread_(std::move(work)) {}
  ~Thread() override { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Background::Work> Threads::Begin(absl::AnyInvocable<void()> work) {
  if (niceness_ == 0) return std::make_unique<Thread>(std::move(work));
  return std::make_unique<Thread>([niceness = niceness_, work = std::move(work)]() mutable {
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness);
    work();
  });
}

}  // namespace capstan
