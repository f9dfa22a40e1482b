// What this process has done to partitions that another one backs up, in the order in which it did
// it, until that one has it (docs/spec, rule 29).
#ifndef CAPSTAN_PS_SHARD_REPLICA_STREAM_H_
#define CAPSTAN_PS_SHARD_REPLICA_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/push_message.h"

namespace capstan::ps {

// The process that a stream is for.
struct ReplicaTarget {
  std::string address;
  Incarnation incarnation{};
};

struct ReplicaStreamName {
  uint64_t number = 0;    // Its number among all streams that this process has begun.
  uint64_t timeline = 0;  // Whose operations it carries.
};

// *Thread-safe*. Its lock may be taken under any other one; callbacks run without it.
class ReplicaStream {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `wake` is called when there is something to send again: by Wake, so it has to be short.
  ReplicaStream(ReplicaTarget target, ReplicaStreamName name, size_t limit,
                std::function<void()> wake)
      : target_(std::move(target)), name_(name), limit_(limit), wake_(std::move(wake)) {}

  const ReplicaTarget& target() const { return target_; }
  const ReplicaStreamName& name() const { return name_; }

  // ---- by whoever has done something ----

  // Adds an operation behind the others. Returns its number, by which Await and HasAll ask for it.
  // The order of one partition's operations is that of the calls, which are therefore made under
  // the partition's lock. `share`: what a push carried; its place in a request is filled in by
  // Next.
  uint64_t Append(v1::Operation operation, PushShare share = {});
  // What has been appended is to be sent now. Once for all operations of a request, so that they
  // travel together.
  void Wake() const { wake_(); }
  // Calls done(OK) once the backup has carried out all of these, or done(status) if Release() has
  // ended the pair of some before.
  struct Awaited {
    PartitionIndex partition{};
    uint64_t number = 0;
  };
  void Await(std::vector<Awaited> operations, Done done);
  // Too much waits to be sent: partitions are to take nothing more in.
  bool full() const;
  size_t bytes() const;
  // The number of the last operation that was appended.
  uint64_t last() const;
  // Whether the backup has carried out what the partition's pair was told, up to this operation of
  // the stream. DATA_LOSS: it has refused some of it.
  absl::StatusOr<bool> HasAll(PartitionIndex partition, uint64_t up_to) const;

  // A view has ended this pair of the partition: OK if its owner goes on alone, or with another
  // backup, an error if it is the owner no more. Whoever waits for an operation of it is told so,
  // and none of them is sent. Those of a later pair are.
  void Release(PartitionIndex partition, ViewEpoch pair, const absl::Status& status);

  // ---- by the sender, one call at a time ----

  // What the target has not taken, up to about `max_bytes`, as a ReplicateRequest; without
  // operations if there is nothing. `source`: this process.
  grpc::ByteBuffer Next(Incarnation source, size_t max_bytes) const;
  bool idle() const;  // Next() would be empty.
  // The target's answer. True: it has taken more than it had before.
  bool Taken(const v1::ReplicateReply& reply);

  // This process ends: whoever waits, now or later, is told so.
  void Close();

 private:
  struct Waiter {
    std::vector<Awaited> left;
    Done done;
    absl::Status status = {};  // What is known so far.
  };
  struct Queued {
    v1::Operation operation;
    PushShare share;
    size_t bytes = 0;  // That are sent.
  };

  // Whether nobody waits for the operation any more; adds how it has ended to `status`.
  bool IsSettled(const Awaited& operation, absl::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same, as asked of all that is waited for.
  using Settles = absl::FunctionRef<bool(const Awaited& operation, absl::Status& status)>;
  // Takes out those who wait for nothing more.
  std::vector<Waiter> TakeSettled(Settles settles) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // What is queued keeps in memory: whole messages, each of them once however many of its
  // operations wait, and among those of others.
  void Keep(const Queued& queued) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(const Queued& queued) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ReplicaTarget target_;
  const ReplicaStreamName name_;
  const size_t limit_;
  const std::function<void()> wake_;
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Memory that the stream takes.
  absl::flat_hash_map<const PushMessage*, size_t> kept_ ABSL_GUARDED_BY(mu_);  // By how many.
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mu_);  // Numbers taken_ + 1, ...
  // Operations that the target has refused: nobody hears of them before a view ends their pair.
  std::map<uint64_t, PartitionIndex> refused_ ABSL_GUARDED_BY(mu_);
  // How the pair of a partition has ended.
  struct Ended {
    uint64_t up_to = 0;   // The last operation that this concerns.
    absl::Status status;  // What Release was called with.
  };
  std::map<PartitionIndex, Ended> ended_ ABSL_GUARDED_BY(mu_);
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REPLICA_STREAM_H_
