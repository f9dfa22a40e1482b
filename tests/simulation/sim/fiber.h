// Real code that waits, in virtual time: it has a stack of its own, and goes on only when somebody
// resumes it, who goes on when it waits or ends. All of it is one thread.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_FIBER_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_FIBER_H_

#include <ucontext.h>

#include <functional>
#include <memory>

namespace capstan::sim {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // REQUIRES: it has not begun, or is over.
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on with the body until it waits or ends. REQUIRES: not over().
  void Resume();
  bool over() const { return over_; }

  // In the body: back to who has resumed it.
  void Wait();
  // The one whose body runs now; null: none.
  static Fiber* Current();

 private:
  static void Enter();
  void Run();
  // What AddressSanitizer is told of a change of stacks: before it, and on the other side.
  void Leaving(bool to_body, bool for_ever);
  void Arrived(bool in_body);

  const std::function<void()> body_;
  std::unique_ptr<char[]> stack_;
  ucontext_t own_;
  ucontext_t caller_;
  Fiber* outer_ = nullptr;  // Whose body has resumed this one.
  bool over_ = false;
  bool begun_ = false;

  // Of AddressSanitizer.
  [[maybe_unused]] void* own_fake_stack_ = nullptr;
  [[maybe_unused]] void* caller_fake_stack_ = nullptr;
  [[maybe_unused]] const void* caller_stack_ = nullptr;
  [[maybe_unused]] size_t caller_stack_size_ = 0;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_FIBER_H_
