// For how long the thread that reads has been in one and the same read.
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
  absl::Duration length;  // 0: it reads on, or has nothing to read.
};

// Thread-compatible.
class StallMeter {
 public:
  // What the thread is at `now`; the length counts from when that read was seen first, so whoever
  // looks every second is wrong by a second.
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
