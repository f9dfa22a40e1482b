#include "capstan/process/await_chief.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/log.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/process/reminder.h"

namespace capstan {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

}  // namespace

absl::Status AwaitChief(const AwaitedChief& chief, const Clock& clock, const Shutdown& shutdown,
                        absl::FunctionRef<absl::Status()> try_once) {
  const absl::Time began = clock.Now();
  Reminder reminder(began);
  absl::Duration pause = kFirstPause;
  for (;;) {
    const absl::Status tried = try_once();
    if (!IsWorthRepeating(tried)) return tried;
    const absl::Time now = clock.Now();
    if (now - began >= chief.give_up_after) {
      return absl::DeadlineExceededError(absl::StrCat("no chief at ", chief.address, " after ",
                                                      absl::FormatDuration(chief.give_up_after),
                                                      ": ", tried.message()));
    }
    if (reminder.Due(now)) {
      log::Info("waiting for the chief",
                {{"chief", chief.address}, {"waited", now - began}, {"error", tried}});
    }
    if (shutdown.WaitFor(pause)) return absl::CancelledError("asked to stop");
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace capstan
