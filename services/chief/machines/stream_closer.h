// Streams of tasks that are done, to be closed on every shard: repeated until each has answered.
#ifndef CAPSTAN_CHIEF_MACHINES_STREAM_CLOSER_H_
#define CAPSTAN_CHIEF_MACHINES_STREAM_CLOSER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

// Thread-compatible.
class StreamCloser {
 public:
  void Add(v1::StreamClose close) { closes_.push_back(std::move(close)); }

  // Sends each shard what it has not been told, unless a call to it is under way. `shards` are all
  // that hold partitions: one that is not among them any more is not asked, and one that has become
  // one of them knows what all others have confirmed.
  void Advance(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls);

  // The shard has answered its last call.
  void OnClosed(uint32_t shard);

  // True when every shard has closed every stream.
  bool complete() const { return closes_.empty(); }

  // Those that some shard has not confirmed, in the order added; forgets them all.
  std::vector<v1::StreamClose> TakeAll();
  const std::deque<v1::StreamClose>& unconfirmed() const { return closes_; }

 private:
  void ForgetConfirmed();

  struct Told {
    uint64_t until = 0;  // Number of closes answered,
    uint64_t sent = 0;   // and sent.
  };

  std::deque<v1::StreamClose>
      closes_;  // From number `first_` on; what all have answered is dropped.
  uint64_t first_ = 0;
  std::map<uint32_t, Told> told_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_STREAM_CLOSER_H_
