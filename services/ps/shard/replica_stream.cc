#include "ps/shard/replica_stream.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"

namespace capstan::ps {
namespace {

constexpr char kEnds[] = "the shard ends before a backup has said that it has this";

// What the pushes of a request carried. Operations of one message share what is sent of it.
class SentPushes {
 public:
  // Fills in where the share will be.
  void Add(const PushShare& share, v1::PushOperation& operation) {
    const auto [found, fresh] = index_.try_emplace(share.push.get(), pushes_.size());
    if (fresh) pushes_.push_back({share.push, {}});
    std::vector<size_t>& places = pushes_[found->second].places;
    operation.set_push(static_cast<uint32_t>(found->second));
    operation.set_place(static_cast<uint32_t>(places.size()));
    places.push_back(share.place);
  }
  void Write(v1::ReplicateRequest& request) const {
    for (const Sent& sent : pushes_) request.add_pushes(sent.push->SharesOf(sent.places));
  }

 private:
  struct Sent {
    std::shared_ptr<const PushMessage> push;
    std::vector<size_t> places;
  };

  absl::flat_hash_map<const PushMessage*, size_t> index_;
  std::vector<Sent> pushes_;
};

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

void ReplicaStream::Await(PartitionIndex partition, uint64_t number, Done done) {
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    const auto ended = ended_.find(partition);
    if (ended != ended_.end() && number <= ended->second.up_to) {
      status = ended->second.status;
    } else if (closed_) {
      status = absl::UnavailableError(kEnds);
    } else if (number > taken_ || refused_.contains(number)) {
      waiters_.push_back({partition, number, std::move(done)});
      return;
    }
  }
  done(status);
}

void ReplicaStream::Close() {
  std::vector<Waiter> waiters;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    waiters.swap(waiters_);
  }
  for (Waiter& waiter : waiters) waiter.done(absl::UnavailableError(kEnds));
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

void ReplicaStream::Release(PartitionIndex partition, const absl::Status& status) {
  std::vector<Waiter> released;
  {
    absl::MutexLock lock(&mu_);
    ended_[partition] = {taken_ + queue_.size(), status};
    std::erase_if(refused_,
                  [partition](const auto& refused) { return refused.second == partition; });
    for (Queued& queued : queue_) {
      const bool ended = queued.operation.partition() == static_cast<uint32_t>(Raw(partition)) &&
                         queued.operation.has_pair();
      if (!ended) continue;
      Drop(queued);
      queued.operation.clear_what();
      queued.share = {};
      queued.bytes = 0;
    }
    const auto kept = std::stable_partition(
        waiters_.begin(), waiters_.end(),
        [partition](const Waiter& waiter) { return waiter.partition != partition; });
    released.assign(std::make_move_iterator(kept), std::make_move_iterator(waiters_.end()));
    waiters_.erase(kept, waiters_.end());
  }
  for (Waiter& waiter : released) waiter.done(status);
}

v1::ReplicateRequest ReplicaStream::Next(Incarnation source, size_t max_bytes) const {
  v1::ReplicateRequest request;
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
      bytes += queued.bytes;
      v1::Operation& operation = *request.add_operations();
      operation = queued.operation;
      if (queued.share.push != nullptr) pushes.Add(queued.share, *operation.mutable_push());
    }
  }
  pushes.Write(request);
  return request;
}

bool ReplicaStream::idle() const {
  absl::MutexLock lock(&mu_);
  return queue_.empty();
}

bool ReplicaStream::Taken(const v1::ReplicateReply& reply) {
  std::vector<Waiter> done;
  bool further = false;
  {
    absl::MutexLock lock(&mu_);
    for (const uint64_t number : reply.refused()) {
      // Nobody asks any more for an operation whose pair has ended meanwhile.
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
    const auto waits =
        std::stable_partition(waiters_.begin(), waiters_.end(), [this](const Waiter& waiter) {
          mu_.AssertHeld();
          return waiter.number > taken_ || refused_.contains(waiter.number);
        });
    done.assign(std::make_move_iterator(waits), std::make_move_iterator(waiters_.end()));
    waiters_.erase(waits, waiters_.end());
  }
  for (Waiter& waiter : done) waiter.done(absl::OkStatus());
  return further;
}

}  // namespace capstan::ps
