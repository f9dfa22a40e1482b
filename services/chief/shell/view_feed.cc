#include "chief/shell/view_feed.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/ids.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::chief {
namespace {

// Limits ended_, as TakeEnded may never be called.
constexpr size_t kMostEnded = 4096;

std::shared_ptr<const v1::View> WithoutTrainers(std::shared_ptr<const v1::View> view) {
  if (view->trainers().empty()) return view;
  auto without = std::make_shared<v1::View>(*view);
  without->clear_trainers();
  return without;
}

// Returns the content of the view without its epoch.
std::string ContentOf(v1::View view) {
  view.clear_epoch();
  return view.SerializeAsString();
}

}  // namespace

// One stream. gRPC's operations are started without holding the mutex, because they may call back
// at once. At most one operation is under way (`busy_`), so Finish never overtakes a write.
// Thread-safe.
class ViewFeed::Watcher : public grpc::ServerWriteReactor<v1::View> {
 public:
  Watcher(ViewFeed& feed, Caller caller) : feed_(feed), caller_(std::move(caller)) {}

  const std::string& peer() const { return caller_.peer; }
  const ShardProcess& process() const { return caller_.process; }
  bool is_shard() const { return process().incarnation != 0; }

  void Offer(Telling telling) {
    absl::ReleasableMutexLock lock(&mu_);
    // The first view, and a newer one, may come from two threads in any order.
    const ViewEpoch epoch = EpochOf(*telling.view);
    if (ending_ || epoch <= offered_) return;
    offered_ = epoch;
    next_ = std::move(telling);
    Go(lock);
  }

  void End(grpc::Status status) {
    absl::ReleasableMutexLock lock(&mu_);
    if (ending_) return;
    ending_ = std::move(status);
    Go(lock);
  }

  void OnWriteDone(bool ok) override {
    absl::ReleasableMutexLock lock(&mu_);
    busy_ = false;
    writing_ = nullptr;
    if (!ok && !ending_) ending_ = grpc::Status::CANCELLED;
    Go(lock);
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override { feed_.Remove(this); }

 private:
  // Starts the next operation, if there is one and none is under way. Releases the lock first.
  void Go(absl::ReleasableMutexLock& lock) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (busy_) return;
    if (ending_) {
      busy_ = true;
      const grpc::Status status = *ending_;
      lock.Release();
      Finish(status);
      return;
    }
    if (next_.view == nullptr) return;
    busy_ = true;
    writing_ = MessageFor(std::exchange(next_, {}));
    const v1::View* message = writing_.get();
    lock.Release();
    StartWrite(message);
  }

  // Returns the message that sends the view to this watcher.
  std::shared_ptr<const v1::View> MessageFor(const Telling& telling)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!caller_.differences) return telling.view;
    const std::shared_ptr<ToldView> before = std::exchange(told_, telling.base);
    const ViewEpoch epoch = std::exchange(told_epoch_, EpochOf(*telling.view));
    return before == nullptr ? telling.view : before->MessageFor(epoch, telling.view);
  }

  ViewFeed& feed_;
  const Caller caller_;
  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  ViewEpoch offered_ ABSL_GUARDED_BY(mu_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mu_);
  Telling next_ ABSL_GUARDED_BY(mu_);  // Shared with the feed.
  // The message under way, which lives until it is written; may be shared with other watchers.
  std::shared_ptr<const v1::View> writing_ ABSL_GUARDED_BY(mu_);
  // The last view sent to a watcher that accepts differences, shared with the others that have it,
  // and its epoch as sent.
  std::shared_ptr<ToldView> told_ ABSL_GUARDED_BY(mu_);
  ViewEpoch told_epoch_ ABSL_GUARDED_BY(mu_);
};

ViewFeed::Telling ViewFeed::NewTelling(std::shared_ptr<const v1::View> view) {
  return {view, std::make_shared<ToldView>(view)};
}

ViewFeed::~ViewFeed() {
  absl::MutexLock lock(&mu_);
  CAPSTAN_CHECK(watchers_.empty());
}

grpc::ServerWriteReactor<v1::View>* ViewFeed::Watch(Caller caller) {
  std::shared_ptr<Watcher> watcher;
  Telling telling;
  grpc::Status refusal;
  {
    absl::MutexLock lock(&mu_);
    const std::string& peer = caller.peer;
    if (closed_) {
      refusal = {grpc::StatusCode::UNAVAILABLE, "the chief is stopping"};
    } else if (watchers_.size() >= max_watchers_) {
      refusal = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                 absl::StrCat("there are ", watchers_.size(), " watchers, which is the limit")};
    } else if (peers_[peer] >= max_of_a_peer_) {
      refusal = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                 absl::StrCat(peer, " has ", peers_[peer], " watchers, which is the limit")};
    }
    // A refused caller does not watch: the end of its stream says nothing about a shard's process.
    if (!refusal.ok()) caller.process = {};
    watcher = std::make_shared<Watcher>(*this, std::move(caller));
    ++peers_[watcher->peer()];
    if (watcher->is_shard()) ++shards_[watcher->process().incarnation];
    watchers_[watcher.get()] = watcher;
    telling = watcher->is_shard() ? to_shards_ : to_others_;
  }
  if (!refusal.ok()) {
    watcher->End(refusal);
  } else if (telling.view != nullptr) {
    watcher->Offer(std::move(telling));
  }
  return watcher.get();
}

void ViewFeed::Publish(const v1::View& view) {
  const Telling to_shards = NewTelling(std::make_shared<const v1::View>(view));
  Telling to_others = NewTelling(WithoutTrainers(to_shards.view));
  std::string content = ContentOf(*to_others.view);
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    absl::MutexLock lock(&mu_);
    const bool first = to_shards_.view == nullptr;
    if (!first && EpochOf(view) <= EpochOf(*to_shards_.view)) return;
    const bool only_trainers = !first && content == content_;
    if (only_trainers) to_others.base = to_others_.base;
    to_shards_ = to_shards;
    to_others_ = to_others;
    content_ = std::move(content);
    for (const auto& [key, watcher] : watchers_) {
      if (watcher->is_shard() || !only_trainers) watchers.push_back(watcher);
    }
  }
  for (const std::shared_ptr<Watcher>& watcher : watchers) {
    watcher->Offer(watcher->is_shard() ? to_shards : to_others);
  }
}

void ViewFeed::Close() {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    for (const auto& [key, watcher] : watchers_) watchers.push_back(watcher);
  }
  for (const std::shared_ptr<Watcher>& watcher : watchers) {
    watcher->End({grpc::StatusCode::UNAVAILABLE, "the chief is stopping"});
  }
}

void ViewFeed::Remove(Watcher* watcher) {
  std::shared_ptr<Watcher> last;  // Destroyed after the lock is released.
  absl::MutexLock lock(&mu_);
  const auto found = watchers_.find(watcher);
  last = std::move(found->second);
  if (--peers_[last->peer()] == 0) peers_.erase(last->peer());
  watchers_.erase(found);
  const ShardProcess process = last->process();
  if (process.incarnation == 0 || --shards_[process.incarnation] > 0) return;
  shards_.erase(process.incarnation);
  if (!closed_ && ended_.size() < kMostEnded) ended_.push_back(process);
}

std::vector<ViewFeed::ShardProcess> ViewFeed::TakeEnded() {
  absl::MutexLock lock(&mu_);
  return std::exchange(ended_, {});
}

bool ViewFeed::IsWatching(uint64_t incarnation) {
  absl::MutexLock lock(&mu_);
  return shards_.contains(incarnation);
}

}  // namespace capstan::chief
