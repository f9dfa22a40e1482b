// Which shares of a shard's memory are full, according to its heartbeats: since when the shard has
// refused requests for lack of memory, and how much memory the share held.
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
  // A share counts as full until no request has been refused for this time. It is long because in a
  // synchronous job the share may be full only at the end of each round.
  static constexpr absl::Duration kCalm = absl::Seconds(30);

  // Takes in a report of the shard's process, whose counters only grow. The refusals in the first
  // report of a share are ignored, as it is unknown when they happened.
  void Hear(const v1::ShardReport& report, absl::Time now);

  struct Share {
    uint64_t held = 0;  // The most bytes that were reported while the share was full.
    uint64_t limit = 0;
    absl::Time since;
  };
  // Returns the shares that are full, by MemoryReport.what.
  std::map<std::string, Share> Full(absl::Time now) const;

 private:
  struct Told {
    uint64_t refused = 0;
    absl::Time last = absl::InfinitePast();  // When a report last said that more were refused.
    Share share;
  };

  std::map<std::string, Told> told_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_FULL_MEMORY_H_
