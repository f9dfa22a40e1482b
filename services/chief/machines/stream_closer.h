// Has the streams of finished tasks closed on every shard.
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

  // Sends each of `shards` the closes that it has not confirmed, unless a call to it is under way.
  // `shards` are all that own partitions; other shards are forgotten. A shard that is new among
  // them has got its partitions from the others, and so has all closes that each of these has
  // confirmed.
  void Advance(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls);

  // The shard has answered its last call.
  void OnClosed(uint32_t shard);

  // Returns true when every shard has closed every stream.
  bool complete() const { return closes_.empty(); }

  // Returns the closes that at least one shard has not confirmed, in the order in which they were
  // added, and forgets everything.
  std::vector<v1::StreamClose> TakeAll();
  const std::deque<v1::StreamClose>& unconfirmed() const { return closes_; }

 private:
  void ForgetConfirmed();

  struct Told {
    uint64_t until = 0;  // How many closes the shard has confirmed, and
    uint64_t sent = 0;   // how many it was sent, since the beginning.
  };

  // The closes from number `first_` on. All shards have confirmed the earlier ones.
  std::deque<v1::StreamClose> closes_;
  uint64_t first_ = 0;
  std::map<uint32_t, Told> told_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_STREAM_CLOSER_H_
