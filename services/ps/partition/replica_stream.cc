#include "ps/partition/replica_stream.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/replicate_message.h"

namespace capstan::ps {
namespace {

constexpr char kEnds[] = "the shard ends before a backup has said that it has this";

bool IsOf(const v1::Operation& operation, PartitionIndex partition, ViewEpoch pair) {
  return operation.partition() == static_cast<uint32_t>(Raw(partition)) && operation.has_pair() &&
         ViewEpochFromProto(operation.pair()) == pair;
}

}  // namespace

uint64_t ReplicaStream::Append(v1::Operation operation, PushShare share) {
  Queued queued{.operation = std::move(operation), .share = std::move(share)};
  queued.bytes = queued.operation.ByteSizeLong();
  if (queued.share.push != nullptr) {
    queued.bytes += queued.share.push->ShareSize(queued.share.place);
  }
  absl::MutexLock lock(&mu_);
  Keep(queued);
  queue_.push_back(std::move(queued));
  return taken_ + queue_.size();
}

void ReplicaStream::Keep(const Queued& queued) {
  const PushMessage* const push = queued.share.push.get();
  if (push == nullptr) {
    bytes_ += queued.bytes;
  } else if (++kept_[push] == 1) {
    bytes_ += push->size();
  }
}

void ReplicaStream::Drop(const Queued& queued) {
  const PushMessage* const push = queued.share.push.get();
  if (push == nullptr) {
    bytes_ -= queued.bytes;
  } else if (const auto kept = kept_.find(push); --kept->second == 0) {
    bytes_ -= push->size();
    kept_.erase(kept);
  }
}

void ReplicaStream::Await(std::vector<Awaited> operations, Done done) {
  Waiter waiter{.left = std::move(operations), .done = std::move(done)};
  {
    absl::MutexLock lock(&mu_);
    std::erase_if(waiter.left, [&](const Awaited& operation) {
      mu_.AssertHeld();  // The analysis of locks does not see into a lambda.
      return IsSettled(operation, waiter.status);
    });
    if (!waiter.left.empty()) {
      waiters_.push_back(std::move(waiter));
      return;
    }
  }
  waiter.done(waiter.status);
}

bool ReplicaStream::IsSettled(const Awaited& operation, absl::Status& status) const {
  const auto ended = ended_.find(operation.partition);
  if (ended != ended_.end() && operation.number <= ended->second.up_to) {
    status.Update(ended->second.status);
    return true;
  }
  if (closed_) {
    status.Update(absl::UnavailableError(kEnds));
    return true;
  }
  return operation.number <= taken_ && !refused_.contains(operation.number);
}

std::vector<ReplicaStream::Waiter> ReplicaStream::TakeSettled(Settles settles) {
  for (Waiter& waiter : waiters_) {
    std::erase_if(waiter.left,
                  [&](const Awaited& operation) { return settles(operation, waiter.status); });
  }
  const auto settled = std::stable_partition(
      waiters_.begin(), waiters_.end(), [](const Waiter& waiter) { return !waiter.left.empty(); });
  std::vector<Waiter> taken(std::make_move_iterator(settled),
                            std::make_move_iterator(waiters_.end()));
  waiters_.erase(settled, waiters_.end());
  return taken;
}

void ReplicaStream::Close() {
  std::vector<Waiter> settled;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    settled = TakeSettled([](const Awaited&, absl::Status& status) {
      status.Update(absl::UnavailableError(kEnds));
      return true;
    });
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
}

bool ReplicaStream::full() const {
  absl::MutexLock lock(&mu_);
  return bytes_ > limit_;
}

size_t ReplicaStream::bytes() const {
  absl::MutexLock lock(&mu_);
  return bytes_;
}

uint64_t ReplicaStream::last() const {
  absl::MutexLock lock(&mu_);
  return taken_ + queue_.size();
}

absl::StatusOr<bool> ReplicaStream::HasAll(PartitionIndex partition, uint64_t up_to) const {
  absl::MutexLock lock(&mu_);
  const bool refused = std::any_of(refused_.begin(), refused_.end(), [partition](const auto& one) {
    return one.second == partition;
  });
  if (!refused) return taken_ >= up_to;
  return absl::DataLossError(
      absl::StrCat("the backup of partition ", Raw(partition), " is out of step"));
}

void ReplicaStream::Release(PartitionIndex partition, ViewEpoch pair, const absl::Status& status) {
  std::vector<Waiter> settled;
  {
    absl::MutexLock lock(&mu_);
    Ended& ended = ended_[partition] = Ended{taken_, status};
    for (size_t i = 0; i < queue_.size(); ++i) {
      Queued& queued = queue_[i];
      if (!IsOf(queued.operation, partition, pair)) continue;
      ended.up_to = taken_ + i + 1;
      Drop(queued);
      queued.operation.clear_what();
      queued.share = {};
      queued.bytes = 0;
    }
    std::erase_if(refused_, [partition, &ended](const auto& refused) {
      return refused.second == partition && refused.first <= ended.up_to;
    });
    settled = TakeSettled([&](const Awaited& operation, absl::Status& all) {
      if (operation.partition != partition || operation.number > ended.up_to) return false;
      all.Update(status);
      return true;
    });
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
}

grpc::ByteBuffer ReplicaStream::Next(Incarnation source, size_t max_bytes) const {
  google::protobuf::Arena arena;  // Operations are many and small.
  auto& request = *google::protobuf::Arena::CreateMessage<v1::ReplicateRequest>(&arena);
  request.mutable_header()->set_wire_version(kWireVersion);
  request.mutable_header()->set_timeline(name_.timeline);
  request.mutable_header()->set_target_incarnation(Raw(target_.incarnation));
  request.set_source(Raw(source));
  request.set_stream(name_.number);
  SentPushes pushes;
  {
    absl::MutexLock lock(&mu_);
    request.set_first(taken_ + 1);
    size_t bytes = 0;
    for (const Queued& queued : queue_) {
      if (request.operations_size() > 0 && bytes + queued.bytes > max_bytes) break;
      if (request.operations_size() == ReplicateMessage::kMostItems) break;
      bytes += queued.bytes;
      v1::Operation& operation = *request.add_operations();
      operation = queued.operation;
      if (queued.share.push != nullptr) pushes.Add(queued.share, *operation.mutable_push());
    }
  }
  return pushes.Write(request);
}

bool ReplicaStream::idle() const {
  absl::MutexLock lock(&mu_);
  return queue_.empty();
}

bool ReplicaStream::Taken(const v1::ReplicateReply& reply) {
  std::vector<Waiter> settled;
  bool further = false;
  {
    absl::MutexLock lock(&mu_);
    for (const uint64_t number : reply.refused()) {
      // Nobody waits any more for an operation that has been taken, or whose pair has ended.
      if (number <= taken_ || number - taken_ > queue_.size()) continue;
      const v1::Operation& refused = queue_[number - taken_ - 1].operation;
      if (refused.what_case() == v1::Operation::WHAT_NOT_SET) continue;
      refused_.emplace(number, static_cast<PartitionIndex>(refused.partition()));
    }
    further = taken_ < reply.taken();
    while (taken_ < reply.taken() && !queue_.empty()) {
      Drop(queue_.front());
      queue_.pop_front();
      ++taken_;
    }
    settled = TakeSettled([this](const Awaited& operation, absl::Status&) {
      mu_.AssertHeld();
      return operation.number <= taken_ && !refused_.contains(operation.number);
    });
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
  return further;
}

}  // namespace capstan::ps
