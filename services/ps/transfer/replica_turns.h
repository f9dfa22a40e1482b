// Decides when each replica stream of a shard is sent: one request to each backup is under way at a
// time, and a backup that does not answer, or confirms nothing, gets no request for a while.
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
  // After a call that failed or made no progress, the next one to this backup waits for kFirstWait;
  // each further such call doubles the wait.
  static constexpr absl::Duration kFirstWait = absl::Milliseconds(2);
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(100);

  // Returns those of `streams`, which must be all streams, for which a request has to be sent at
  // `now`. The request counts as under way until Hear is called.
  std::vector<std::shared_ptr<ReplicaStream>> Take(
      const std::vector<std::shared_ptr<ReplicaStream>>& streams, absl::Time now);

  // Returns true if the stream with this number was among those that Take() was last called with.
  bool Knows(uint64_t number) const { return turns_.contains(number); }

  // What follows from the reply to a request.
  struct Heard {
    // The call failed, and people should be told: the call before did not fail, or the backup runs
    // an earlier version, which was not reported yet.
    bool tells = false;
    // For how long no request is sent for this stream.
    absl::Duration wait = absl::ZeroDuration();
  };
  // Takes in the reply to a request. `in_pieces`: the request was larger than a message.
  Heard Hear(ReplicaStream& stream, const absl::StatusOr<v1::ReplicateReply>& reply, bool in_pieces,
             absl::Time now);

 private:
  struct Turn {
    bool calling = false;
    absl::Duration wait = absl::ZeroDuration();  // The wait after the last call.
    absl::Time next = absl::InfinitePast();
    bool told_release = false;  // It was reported that the backup runs an earlier version.
  };

  std::map<uint64_t, Turn> turns_;  // By the number of the stream.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_REPLICA_TURNS_H_
