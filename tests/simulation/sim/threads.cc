#include "tests/simulation/sim/threads.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tests/simulation/sim/fiber.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kLongestWork = absl::Milliseconds(300);

}  // namespace

struct SimThreads::Task : public Fiber, public std::enable_shared_from_this<Task> {
  explicit Task(absl::AnyInvocable<void()> work)
      : Fiber([this] { body(); }), body(std::move(work)) {}
  // The one that runs now; null: none.
  static Task* Current() { return static_cast<Task*>(Fiber::Current()); }

  absl::AnyInvocable<void()> body;
  uint64_t turn = 0;  // A timer of an earlier turn is void.
  bool sleeps = false;
  bool hurried = false;          // Nothing is waited for any more.
  std::function<void()> at_end;  // Of one who waits for it.
};

// Both the owner of the work and its timers hold the task.
class SimThreads::TaskWork : public Background::Work {
 public:
  TaskWork(SimThreads& threads, std::shared_ptr<Task> task)
      : threads_(threads), task_(std::move(task)) {}

  ~TaskWork() override {
    Task* const self = Task::Current();
    if (task_->over()) return;
    if (self != nullptr && !self->hurried) {
      task_->at_end = [this, self] {
        threads_.ResumeAfter(absl::ZeroDuration(), self->shared_from_this());
      };
      self->Wait();
    }
    RunToTheEnd(*task_);
  }

 private:
  SimThreads& threads_;
  const std::shared_ptr<Task> task_;
};

void SimThreads::RunToTheEnd(Task& task) {
  task.hurried = true;
  ++task.turn;
  task.at_end = nullptr;
  while (!task.over()) task.Resume();
}

std::unique_ptr<Background::Work> SimThreads::Begin(absl::AnyInvocable<void()> work) {
  auto task = std::make_shared<Task>(std::move(work));
  ResumeAfter(absl::ZeroDuration(), task);
  return std::make_unique<TaskWork>(*this, std::move(task));
}

void SimThreads::ResumeAfter(absl::Duration wait, const std::shared_ptr<Task>& task) {
  network_.After(life_, wait, [task, turn = ++task->turn] {
    if (task->turn != turn || task->over()) return;
    task->Resume();
    if (task->over() && task->at_end) std::exchange(task->at_end, nullptr)();
  });
}

bool SimThreads::Sleep(absl::Duration length) {
  Task& task = *Task::Current();
  if (task.hurried) return false;
  ResumeAfter(length, task.shared_from_this());
  task.sleeps = true;
  task.Wait();
  task.sleeps = false;
  return !task.hurried;
}

std::function<void()> SimThreads::Waker() {
  return [this, task = Task::Current()->shared_from_this()] {
    if (task->sleeps && !task->hurried) ResumeAfter(absl::ZeroDuration(), task);
  };
}

bool SimThreads::over() const { return Task::Current()->hurried; }

std::unique_ptr<Background::Work> BusyThreads::Begin(absl::AnyInvocable<void()> work) {
  const absl::Duration wait = schedule_.Between(absl::ZeroDuration(), kLongestWork);
  return threads_.Begin([this, wait, work = std::move(work)]() mutable {
    SleepFor(wait);
    work();
  });
}

}  // namespace capstan::sim
