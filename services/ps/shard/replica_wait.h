// What backups have to carry out before somebody is answered.
#ifndef CAPSTAN_PS_SHARD_REPLICA_WAIT_H_
#define CAPSTAN_PS_SHARD_REPLICA_WAIT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "capstan/base/ids.h"
#include "ps/shard/replica_stream.h"

namespace capstan::ps {

// What is added is sent when the wait begins; or when it is destroyed, for then nobody waits.
// Copies wait for the same. Thread-compatible.
class ReplicaWait {
 public:
  ReplicaWait() = default;
  ReplicaWait(const ReplicaWait &) = default;
  ReplicaWait(ReplicaWait &&) = default;
  // What was added here before is sent: nobody waits for it any more.
  ReplicaWait &operator=(ReplicaWait other) {
    streams_.swap(other.streams_);
    return *this;
  }
  ~ReplicaWait() { Wake(); }

  void Add(const std::shared_ptr<ReplicaStream> &stream, PartitionIndex partition, uint64_t number);
  // There is nothing to wait for.
  bool empty() const { return streams_.empty(); }

  // Calls done(OK) once every backup has what was added, or done(error) once it is known that a
  // pair has ended because the owner is another one now. At once if nothing has been added; else
  // maybe on another thread.
  void Then(absl::AnyInvocable<void(const absl::Status &)> done) &&;

 private:
  void Wake() const;

  struct OfStream {
    std::shared_ptr<ReplicaStream> stream;
    std::vector<ReplicaStream::Awaited> operations;
  };
  std::vector<OfStream> streams_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REPLICA_WAIT_H_
