// The operations that backups have to carry out before a call may be answered.
#ifndef CAPSTAN_PS_PARTITION_REPLICA_WAIT_H_
#define CAPSTAN_PS_PARTITION_REPLICA_WAIT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "capstan/base/ids.h"
#include "ps/partition/replica_stream.h"

namespace capstan::ps {

// Wakes the streams, which then send the operations, when the wait begins, or on destruction if
// nobody waits. Copies wait for the same operations. Thread-compatible.
class ReplicaWait {
 public:
  ReplicaWait() = default;
  ReplicaWait(const ReplicaWait &) = default;
  ReplicaWait(ReplicaWait &&) = default;
  // The operations that this object held before are sent, but not waited for.
  ReplicaWait &operator=(ReplicaWait other) {
    streams_.swap(other.streams_);
    return *this;
  }
  ~ReplicaWait() { Wake(); }

  void Add(const std::shared_ptr<ReplicaStream> &stream, PartitionIndex partition, uint64_t number);
  // Returns true if there is nothing to wait for.
  bool empty() const { return streams_.empty(); }

  // Calls done(OK) once the backups have carried out all operations that were added, or done(error)
  // if a pair has ended because this process is not the owner any more, or if this process ends.
  // The call happens at once if nothing was added, and otherwise possibly on another thread.
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

#endif  // CAPSTAN_PS_PARTITION_REPLICA_WAIT_H_
