#include "capstan/base/failpoint.h"

#ifdef CAPSTAN_FAILPOINTS

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "capstan/base/exit_code.h"

// The linker's names for the beginning and the end of the section; weak, because a program may have
// no failpoint.
extern "C" {
[[gnu::weak]] extern capstan::Failpoint* __start_capstan_failpoints[];
[[gnu::weak]] extern capstan::Failpoint* __stop_capstan_failpoints[];
}

namespace capstan {
namespace {

// Writes directly to the descriptor: the log may not have been initialized, or the process may be
// about to end.
void Say(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (write(fd, text.data(), text.size()) < 0) return;
}

[[noreturn]] void Refuse(absl::string_view setting, const char* why) {
  Say(STDERR_FILENO, absl::StrCat("CAPSTAN_FAILPOINTS: ", setting, ": ", why));
  _exit(2);
}

std::span<Failpoint*> AllPoints() {
  return {__start_capstan_failpoints, __stop_capstan_failpoints};
}

void ArmOne(absl::string_view setting) {
  const std::vector<absl::string_view> halves = absl::StrSplit(setting, absl::MaxSplits('=', 1));
  if (halves.size() != 2) Refuse(setting, "expected name=action");
  std::vector<absl::string_view> words = absl::StrSplit(halves[1], absl::MaxSplits(':', 1));
  int64_t nth = 1;
  if (words.size() == 2 && (!absl::SimpleAtoi(words[1], &nth) || nth < 1)) {
    Refuse(setting, "expected a number from 1 after the colon");
  }
  int64_t delay_ms = 0;
  Failpoint::Action action = Failpoint::Action::kNone;
  if (words[0] == "crash") action = Failpoint::Action::kCrash;
  if (words[0] == "error") action = Failpoint::Action::kError;
  if (absl::ConsumePrefix(&words[0], "delay(") && absl::ConsumeSuffix(&words[0], ")") &&
      absl::SimpleAtoi(words[0], &delay_ms) && delay_ms >= 0) {
    action = Failpoint::Action::kDelay;
  }
  if (action == Failpoint::Action::kNone) Refuse(setting, "expected crash, error or delay(ms)");
  bool found = false;
  for (Failpoint* point : AllPoints()) {
    if (point->name() != halves[0]) continue;
    if (action == Failpoint::Action::kError && point->kind() == Failpoint::Kind::kPlain) {
      Refuse(setting, "this point returns no status");
    }
    point->Arm(action, nth, delay_ms);
    found = true;
  }
  if (!found) Refuse(setting, "this program has no such failpoint");
}

// Runs before main, so that failpoints are armed before they are reached, and programs need not
// call this.
[[gnu::constructor]] void ArmByEnvironment() {
  const char* const settings = getenv("CAPSTAN_FAILPOINTS");
  if (settings == nullptr || *settings == '\0') return;
  if (absl::string_view(settings) == "list") {
    for (const Failpoint* point : AllPoints()) {
      const bool returns = point->kind() == Failpoint::Kind::kReturnsStatus;
      Say(STDOUT_FILENO, absl::StrCat(point->name(), returns ? " error" : ""));
    }
    _exit(0);
  }
  for (absl::string_view setting : absl::StrSplit(settings, ',')) ArmOne(setting);
}

}  // namespace

void Failpoint::Arm(Action action, int64_t nth, int64_t delay_ms) {
  times_left_ = nth;
  delay_ms_ = delay_ms;
  action_ = action;
}

absl::Status Failpoint::ReachArmed() {
  const int64_t left = times_left_.fetch_sub(1, std::memory_order_relaxed);
  const Action action = action_.load(std::memory_order_relaxed);
  if (action == Action::kDelay && left <= 1) absl::SleepFor(absl::Milliseconds(delay_ms_));
  if (left != 1) return absl::OkStatus();
  Say(STDERR_FILENO, absl::StrCat("failpoint ", name_, " reached"));
  if (action == Action::kCrash) {
    kill(getpid(), SIGKILL);
    pause();
  }
  if (action == Action::kError) {
    return absl::UnavailableError(absl::StrCat("failpoint ", name_));
  }
  return absl::OkStatus();
}

}  // namespace capstan

#endif  // CAPSTAN_FAILPOINTS
