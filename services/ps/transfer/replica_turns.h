// When the replica streams of a shard are sent from: one request to each backup is under way at a
// time, and a backup that does not answer, or takes nothing, is left alone for a while.
#ifndef CAPSTAN_PS_TRANSFER_REPLICA_TURNS_H_
#define CAPSTAN_PS_TRANSFER_REPLICA_TURNS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/replica_stream.h"

namespace capstan::ps {

// Thread-compatible.
class ReplicaTurns {
 public:
  // After a call that failed or brought nothing on, the next one to this backup waits for so long
  // at first; each further such call doubles the wait.
  static constexpr absl::Duration kFirstWait = absl::Milliseconds(2);
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(100);

  // Returns those of `streams`, which are all that there are, from which a request is to be sent at
  // `now`. The request counts as under way until it is heard of.
  std::vector<std::shared_ptr<ReplicaStream>> Take(
      const std::vector<std::shared_ptr<ReplicaStream>>& streams, absl::Time now);

  // Returns whether the stream of this number was among those that Take() was last called with.
  bool Knows(uint64_t number) const { return turns_.contains(number); }

  // What has come of a request.
  struct Heard {
    // The call failed, which people are to be told: the call before did not fail, or the backup is
    // of an earlier release, and they have not been told that yet.
    bool tells = false;
    // For how long no request is sent from this stream.
    absl::Duration wait = absl::ZeroDuration();
  };
  // `in_pieces`: the request was larger than a message.
  Heard Hear(ReplicaStream& stream, const absl::StatusOr<v1::ReplicateReply>& reply, bool in_pieces,
             absl::Time now);

 private:
  struct Turn {
    bool calling = false;
    absl::Duration wait = absl::ZeroDuration();  // After the last call.
    absl::Time next = absl::InfinitePast();
    bool told_release = false;  // It was told that the backup is of an earlier release.
  };

  std::map<uint64_t, Turn> turns_;  // By the number of their stream.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICA_TURNS_H_
