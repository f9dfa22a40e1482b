// Measures for how long the thread that reads data has been in one and the same read.
#ifndef CAPSTAN_WORKER_SHELL_STALL_METER_H_
#define CAPSTAN_WORKER_SHELL_STALL_METER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/data/formats/watched_source.h"

namespace capstan::worker {

struct Stall {
  std::string on;         // The file, and what its store answers.
  absl::Duration length;  // 0: the thread gets on, or has nothing to read.
};

// Thread-compatible.
class StallMeter {
 public:
  // `read`: the read that the thread is in at `now`. The length counts from the first Look() that
  // saw this read, so a caller that looks every second is wrong by up to a second.
  Stall Look(const std::optional<ReadUnderWay>& read, absl::Time now) {
    if (!read) {
      number_.reset();
      return {};
    }
    if (number_ != read->number) {
      number_ = read->number;
      since_ = now;
    }
    std::string on =
        read->why.empty() ? read->file : absl::StrCat(read->file, " (", read->why, ")");
    return {std::move(on), now - since_};
  }

 private:
  std::optional<uint64_t> number_;  // The number of the read that was under way at the last look.
  absl::Time since_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STALL_METER_H_
