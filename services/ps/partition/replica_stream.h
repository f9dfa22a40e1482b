// The operations that this process has done on partitions that one other process backs up, in their
// order, until that process has repeated them (docs/spec, rule 29).
#ifndef CAPSTAN_PS_PARTITION_REPLICA_STREAM_H_
#define CAPSTAN_PS_PARTITION_REPLICA_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"
#include "ps/partition/told_push.h"

namespace capstan::ps {

// The process to which a stream is sent.
struct ReplicaTarget {
  std::string address;
  Incarnation incarnation{};
};

struct ReplicaStreamName {
  uint64_t number = 0;    // The number of the stream among all that this process has begun.
  uint64_t timeline = 0;  // The timeline of its operations.
};

// *Thread-safe*. Its lock may be taken under any other one; callbacks run without it.
class ReplicaStream {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `limit`: the stream is full() above this many bytes. `wake` is called by Wake() if the stream
  // was idle(), and must return quickly. The sender also checks the stream by itself whenever it
  // gets the reply to what it has sent.
  ReplicaStream(ReplicaTarget target, ReplicaStreamName name, size_t limit,
                std::function<void()> wake)
      : target_(std::move(target)), name_(name), limit_(limit), wake_(std::move(wake)) {}

  const ReplicaTarget& target() const { return target_; }
  const ReplicaStreamName& name() const { return name_; }

  // ---- called by the thread that has done an operation ----

  // Append an operation: a push, or any other. Return its number, to be passed to Await and HasAll.
  // The operations of one partition are sent in the order of the calls, which are therefore made
  // under the partition's lock.
  uint64_t Append(ToldPush push);
  uint64_t Append(v1::Operation operation);
  // Has the appended operations sent now. Should be called once for all operations of a request, so
  // that they are sent together.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);
  // Calls `done` once each of `operations` has been carried out by the backup, or its pair has been
  // ended by Release(). The status is OK, or the first error that Release() was called with, or
  // UNAVAILABLE if Close() was called before.
  struct Awaited {
    PartitionIndex partition{};
    uint64_t number = 0;
  };
  void Await(std::vector<Awaited> operations, Done done);
  // Returns true if operations take more memory than the limit: partitions should accept no more
  // pushes. Takes no lock, as it is called for each partition of each push.
  bool full() const { return bytes() > limit_; }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The number of the last operation that was appended; 0 if there is none.
  uint64_t last() const;
  // Returns true if the backup has carried out all operations up to the number `up_to`. DATA_LOSS:
  // it has refused an operation of this partition.
  absl::StatusOr<bool> HasAll(PartitionIndex partition, uint64_t up_to) const;

  // A view has ended this pair of the partition. `status`: OK if this process remains the owner,
  // alone or with another backup; an error if it is not the owner any more. Those who wait for
  // operations of the pair get `status`, and operations of the pair that the backup has not
  // received are not sent any more. A later pair of the partition is not affected.
  void Release(PartitionIndex partition, ViewEpoch pair, const absl::Status& status);

  // ---- called by the sender, one call at a time ----

  // The header of all requests to the target.
  v1::RequestHeader Header() const;
  // Returns a ReplicateRequest with the operations that the target has not confirmed, up to about
  // `max_bytes`; it is empty if there are none. `source`: the incarnation of this process.
  grpc::ByteBuffer Next(Incarnation source, size_t max_bytes) const;
  // Returns true if the target has confirmed all operations up to the last Wake(). Further ones
  // belong to requests that are still being handled, and are sent with the rest of these.
  bool idle() const;
  // Takes in the target's reply. Returns true if the target has confirmed more operations than
  // before.
  bool Taken(const v1::ReplicateReply& reply);

  // This process ends: all who wait, now or later, get UNAVAILABLE.
  void Close();

 private:
  // Whether all operations of a waiter have been confirmed follows from the lowest and the highest
  // of their numbers, unless the target has refused one.
  struct Waiter {
    std::vector<Awaited> left;
    Done done;
    uint64_t first = 0;
    uint64_t last = 0;
    absl::Status status = {};  // The first error of the operations that are settled.
  };
  using Other = std::unique_ptr<const v1::Operation>;
  // std::monostate: the operation is void, as its pair has ended.
  using What = std::variant<std::monostate, ToldPush, Other>;
  struct Queued {
    What what;
    size_t bytes = 0;  // Approximately how many bytes it takes in a request.
  };

  uint64_t Enqueue(Queued queued) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the partition of the operation; nullopt if it is void.
  static std::optional<PartitionIndex> PartitionOf(const What& what);
  static bool IsOf(const What& what, PartitionIndex partition, ViewEpoch pair);

  // Returns true if the operation need not be waited for any more. Then updates `status` with how
  // it has ended.
  bool IsSettled(const Awaited& operation, absl::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Removes from the waiter the operations that the target has carried out.
  void SettleTaken(Waiter& waiter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Removes and returns the waiters all of whose operations are settled.
  std::vector<Waiter> TakeSettled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Add and subtract the memory of an operation in the queue. A push is kept as a whole message,
  // and counts once even if several operations in the queue refer to it.
  void Keep(const Queued& queued) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(const Queued& queued) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ReplicaTarget target_;
  const ReplicaStreamName name_;
  const size_t limit_;
  const std::function<void()> wake_;
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // Memory of the queue in bytes. Written only under mu_.
  std::atomic<size_t> bytes_{0};
  // How many operations in the queue refer to each message.
  absl::flat_hash_map<const PushMessage*, size_t> kept_ ABSL_GUARDED_BY(mu_);
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t wanted_ ABSL_GUARDED_BY(mu_) = 0;  // Wake() has asked for operations up to this number.
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mu_);  // Their numbers are taken_ + 1, ...
  // Operations that the target has refused. Those who wait for them are answered only when a view
  // has ended their pair.
  std::map<uint64_t, PartitionIndex> refused_ ABSL_GUARDED_BY(mu_);
  // How the last pair of a partition has ended.
  struct Ended {
    uint64_t up_to = 0;   // The last operation of that pair.
    absl::Status status;  // The argument of Release.
  };
  std::map<PartitionIndex, Ended> ended_ ABSL_GUARDED_BY(mu_);
  uint64_t last_ended_ ABSL_GUARDED_BY(mu_) = 0;  // The highest `up_to` in ended_.
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_REPLICA_STREAM_H_
