// Which of the shares of a shard's memory are full, by what its heartbeats tell: since when
// requests have been turned away for want of room, and how much was held.
#ifndef CAPSTAN_CHIEF_STATE_FULL_MEMORY_H_
#define CAPSTAN_CHIEF_STATE_FULL_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Thread-compatible.
class FullMemory {
 public:
  // A share is full until it has turned nothing away for so long: a round of a synchronous job may
  // be full at its end alone.
  static constexpr absl::Duration kCalm = absl::Seconds(30);

  // Takes in what the shard's process tells, whose counts only grow. What was turned away before it
  // told of the share for the first time does not count: nobody knows when that was.
  void Hear(const v1::ShardReport& report, absl::Time now);

  struct Share {
    uint64_t held = 0;  // Bytes, the most that was told of while it was full.
    uint64_t limit = 0;
    absl::Time since;
  };
  // The shares that are full, by what they hold.
  std::map<std::string, Share> Full(absl::Time now) const;

 private:
  struct Told {
    uint64_t refused = 0;
    absl::Time last = absl::InfinitePast();  // When more of them were told of.
    Share share;
  };

  std::map<std::string, Told> told_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_FULL_MEMORY_H_
