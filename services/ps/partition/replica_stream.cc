#include "ps/partition/replica_stream.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/replicate_message.h"

namespace capstan::ps {
namespace {

constexpr char kEnds[] = "the shard ends before a backup has said that it has this";

// Approximately what a push takes in a request in addition to its gradient.
constexpr size_t kToldPushBytes = 64;

// Adds an operation in a queue to a request.
struct AddTo {
  SentOperations& sent;

  void operator()(std::monostate) const { sent.Add(v1::Operation()); }
  void operator()(const ToldPush& push) const { sent.Add(push); }
  void operator()(const std::unique_ptr<const v1::Operation>& other) const { sent.Add(*other); }
};

}  // namespace

uint64_t ReplicaStream::Append(ToldPush push) {
  const size_t bytes = kToldPushBytes + push.gradient.push->ShareSize(push.gradient.place);
  return Enqueue(Queued{.what = std::move(push), .bytes = bytes});
}

uint64_t ReplicaStream::Append(v1::Operation operation) {
  const size_t bytes = operation.ByteSizeLong();
  return Enqueue(
      Queued{.what = std::make_unique<const v1::Operation>(std::move(operation)), .bytes = bytes});
}

uint64_t ReplicaStream::Enqueue(Queued queued) {
  absl::MutexLock lock(&mu_);
  Keep(queued);
  queue_.push_back(std::move(queued));
  return taken_ + queue_.size();
}

void ReplicaStream::Wake() {
  {
    absl::MutexLock lock(&mu_);
    const bool was_idle = wanted_ <= taken_;
    wanted_ = taken_ + queue_.size();
    if (!was_idle || queue_.empty()) return;
  }
  wake_();
}

void ReplicaStream::Keep(const Queued& queued) {
  size_t more = queued.bytes;
  if (const auto* push = std::get_if<ToldPush>(&queued.what)) {
    more = ++kept_[push->gradient.push.get()] == 1 ? push->gradient.push->size() : 0;
  }
  bytes_.store(bytes() + more, std::memory_order_relaxed);
}

void ReplicaStream::Drop(const Queued& queued) {
  size_t less = queued.bytes;
  if (const auto* push = std::get_if<ToldPush>(&queued.what)) {
    const auto kept = kept_.find(push->gradient.push.get());
    less = --kept->second == 0 ? push->gradient.push->size() : 0;
    if (kept->second == 0) kept_.erase(kept);
  }
  bytes_.store(bytes() - less, std::memory_order_relaxed);
}

std::optional<PartitionIndex> ReplicaStream::PartitionOf(const What& what) {
  if (const auto* push = std::get_if<ToldPush>(&what)) return push->partition;
  if (const auto* other = std::get_if<Other>(&what)) {
    return static_cast<PartitionIndex>((*other)->partition());
  }
  return std::nullopt;
}

bool ReplicaStream::IsOf(const What& what, PartitionIndex partition, ViewEpoch pair) {
  if (PartitionOf(what) != partition) return false;
  if (const auto* push = std::get_if<ToldPush>(&what)) return push->pair == pair;
  const v1::Operation& other = *std::get<Other>(what);
  return other.has_pair() && ViewEpochFromProto(other.pair()) == pair;
}

void ReplicaStream::Await(std::vector<Awaited> operations, Done done) {
  if (operations.empty()) return done(absl::OkStatus());
  const auto [first, last] =
      std::minmax_element(operations.begin(), operations.end(),
                          [](const Awaited& a, const Awaited& b) { return a.number < b.number; });
  Waiter waiter{.left = {}, .done = std::move(done), .first = first->number, .last = last->number};
  waiter.left = std::move(operations);
  {
    absl::MutexLock lock(&mu_);
    // Usually none of it has been confirmed, and no pair has ended since it was appended.
    if (closed_ || waiter.first <= std::max(taken_, last_ended_)) {
      std::erase_if(waiter.left, [&](const Awaited& operation) {
        mu_.AssertHeld();  // The analysis of locks does not see into a lambda.
        return IsSettled(operation, waiter.status);
      });
    }
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

void ReplicaStream::SettleTaken(Waiter& waiter) const {
  if (waiter.first > taken_) return;
  if (waiter.last <= taken_ && refused_.empty()) return waiter.left.clear();
  std::erase_if(waiter.left, [this](const Awaited& operation) {
    mu_.AssertHeld();
    return operation.number <= taken_ && !refused_.contains(operation.number);
  });
}

std::vector<ReplicaStream::Waiter> ReplicaStream::TakeSettled() {
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
    settled.swap(waiters_);
    for (Waiter& waiter : settled) waiter.status.Update(absl::UnavailableError(kEnds));
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
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
      if (!IsOf(queued.what, partition, pair)) continue;
      ended.up_to = taken_ + i + 1;
      Drop(queued);
      queued = Queued();
    }
    last_ended_ = std::max(last_ended_, ended.up_to);
    std::erase_if(refused_, [partition, &ended](const auto& refused) {
      return refused.second == partition && refused.first <= ended.up_to;
    });
    for (Waiter& waiter : waiters_) {
      std::erase_if(waiter.left, [&](const Awaited& operation) {
        if (operation.partition != partition || operation.number > ended.up_to) return false;
        waiter.status.Update(status);
        return true;
      });
    }
    settled = TakeSettled();
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
}

v1::RequestHeader ReplicaStream::Header() const {
  v1::RequestHeader header;
  header.set_wire_version(kWireVersion);
  header.set_timeline(name_.timeline);
  header.set_target_incarnation(Raw(target_.incarnation));
  return header;
}

grpc::ByteBuffer ReplicaStream::Next(Incarnation source, size_t max_bytes) const {
  v1::ReplicateRequest head;
  *head.mutable_header() = Header();
  head.set_source(Raw(source));
  head.set_stream(name_.number);
  SentOperations operations;
  {
    absl::MutexLock lock(&mu_);
    head.set_first(taken_ + 1);
    size_t bytes = 0;
    for (const Queued& queued : queue_) {
      if (operations.size() > 0 && bytes + queued.bytes > max_bytes) break;
      if (operations.size() == ReplicateMessage::kMostItems) break;
      bytes += queued.bytes;
      std::visit(AddTo{operations}, queued.what);
    }
  }
  return operations.Write(head);
}

bool ReplicaStream::idle() const {
  absl::MutexLock lock(&mu_);
  return wanted_ <= taken_;
}

bool ReplicaStream::Taken(const v1::ReplicateReply& reply) {
  std::vector<Waiter> settled;
  bool further = false;
  {
    absl::MutexLock lock(&mu_);
    for (const uint64_t number : reply.refused()) {
      // Nobody waits any more for an operation that was confirmed, or whose pair has ended.
      if (number <= taken_ || number - taken_ > queue_.size()) continue;
      const std::optional<PartitionIndex> refused = PartitionOf(queue_[number - taken_ - 1].what);
      if (refused) refused_.emplace(number, *refused);
    }
    further = taken_ < reply.taken();
    while (taken_ < reply.taken() && !queue_.empty()) {
      Drop(queue_.front());
      queue_.pop_front();
      ++taken_;
    }
    for (Waiter& waiter : waiters_) SettleTaken(waiter);
    settled = TakeSettled();
  }
  for (Waiter& waiter : settled) waiter.done(waiter.status);
  return further;
}

}  // namespace capstan::ps
