// Has the streams of tasks that are done closed on every shard.
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

  // Sends each shard the closes that it has not confirmed, unless a call to it is under way.
  // `shards` are all that hold partitions. A shard that is not among them any more is not asked.
  // One that is new among them has its partitions from others, and so knows the closes that all of
  // these have confirmed.
  void Advance(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls);

  // The shard has answered its last call.
  void OnClosed(uint32_t shard);

  // True when every shard has closed every stream.
  bool complete() const { return closes_.empty(); }

  // Returns the closes that some shard has not confirmed, in the order added, and forgets
  // everything.
  std::vector<v1::StreamClose> TakeAll();
  const std::deque<v1::StreamClose>& unconfirmed() const { return closes_; }

 private:
  void ForgetConfirmed();

  struct Told {
    uint64_t until = 0;  // How many closes it has confirmed,
    uint64_t sent = 0;   // and was sent, ever.
  };

  std::deque<v1::StreamClose>
      closes_;  // Closes from number `first_` on: all shards have confirmed those before.
  uint64_t first_ = 0;
  std::map<uint32_t, Told> told_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_STREAM_CLOSER_H_
