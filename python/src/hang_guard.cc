#include "python/src/hang_guard.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr absl::Duration kForLeases = absl::Seconds(30);  // To give back what the worker holds.
constexpr int kProgramFailed = 3;

}  // namespace

HangGuard::HangGuard(UserProgram& program, Shutdown& shutdown, Runtime& runtime)
    : program_(program),
      shutdown_(shutdown),
      runtime_(runtime),
      watch_(program.steps(), clock_),
      thread_([this] { Run(); }) {}

HangGuard::~HangGuard() { Stop(); }

void HangGuard::Stop() {
  if (!stopped_.exchange(true)) stop_.Notify();
  if (thread_.joinable()) thread_.join();
}

void HangGuard::Run() {
  while (!stop_.WaitForNotificationWithTimeout(kLook)) {
    const std::optional<UserProgram::StepLimit> limit = program_.step_limit();
    if (!limit) continue;
    const std::optional<v1::UserCodeError> error =
        watch_.Look(limit->timeout, limit->program, [this] { shutdown_.Request(); });
    if (error) EndProcess(*error);
  }
}

// Without the destructors of anybody: threads of the program are still inside of them.
void HangGuard::EndProcess(const v1::UserCodeError& error) {
  (void)runtime_.AwaitEnd(kForLeases);
  const std::string text = absl::StrCat(error.traceback(), "capstan_ps: ", error.place(), ": ",
                                        error.type(), ": ", error.message(), "\n");
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  _exit(kProgramFailed);
}

}  // namespace capstan::worker
