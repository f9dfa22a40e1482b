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

// Bounds ended_, as nobody may call TakeEnded.
constexpr size_t kMostEnded = 4096;

std::shared_ptr<const v1::View> WithoutTrainers(std::shared_ptr<const v1::View> view) {
  if (view->trainers().empty()) return view;
  auto without = std::make_shared<v1::View>(*view);
  without->clear_trainers();
  return without;
}

// Returns what the view says beside its epoch.
std::string ContentOf(v1::View view) {
  view.clear_epoch();
  return view.SerializeAsString();
}

}  // namespace

// One stream. gRPC's operations are started without the mutex held, for they may call back at once.
// At most one operation is under way (`busy_`), so Finish never overtakes a write. Thread-safe.
class ViewFeed::Watcher : public grpc::ServerWriteReactor<v1::View> {
 public:
  Watcher(ViewFeed& feed, std::string peer, ShardProcess process)
      : feed_(feed), peer_(std::move(peer)), process_(process) {}

  const std::string& peer() const { return peer_; }
  const ShardProcess& process() const { return process_; }
  bool is_shard() const { return process_.incarnation != 0; }

  void Offer(std::shared_ptr<const v1::View> view) {
    absl::ReleasableMutexLock lock(&mu_);
    // The first view, and a newer one, may come from two threads in any order.
    const ViewEpoch epoch = EpochOf(*view);
    if (ending_ || epoch <= offered_) return;
    offered_ = epoch;
    next_ = std::move(view);
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
    if (next_ == nullptr) return;
    busy_ = true;
    writing_ = std::exchange(next_, nullptr);
    const v1::View* view = writing_.get();
    lock.Release();
    StartWrite(view);
  }

  ViewFeed& feed_;
  const std::string peer_;
  const ShardProcess process_;
  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  ViewEpoch offered_ ABSL_GUARDED_BY(mu_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const v1::View> next_ ABSL_GUARDED_BY(mu_);     // Shared with the feed.
  std::shared_ptr<const v1::View> writing_ ABSL_GUARDED_BY(mu_);  // Lives until written.
};

ViewFeed::~ViewFeed() {
  absl::MutexLock lock(&mu_);
  CAPSTAN_CHECK(watchers_.empty());
}

grpc::ServerWriteReactor<v1::View>* ViewFeed::Watch(const std::string& peer, ShardProcess process) {
  std::shared_ptr<Watcher> watcher;
  std::shared_ptr<const v1::View> view;
  grpc::Status refusal;
  {
    absl::MutexLock lock(&mu_);
    if (closed_) {
      refusal = {grpc::StatusCode::UNAVAILABLE, "the chief is stopping"};
    } else if (watchers_.size() >= max_watchers_) {
      refusal = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                 absl::StrCat("there are ", watchers_.size(), " watchers, which is the limit")};
    } else if (peers_[peer] >= max_of_a_peer_) {
      refusal = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                 absl::StrCat(peer, " has ", peers_[peer], " watchers, which is the limit")};
    }
    // Who is refused does not watch: the end of its stream tells nothing about a shard's process.
    if (!refusal.ok()) process = {};
    watcher = std::make_shared<Watcher>(*this, peer, process);
    ++peers_[peer];
    if (process.incarnation != 0) ++shards_[process.incarnation];
    watchers_[watcher.get()] = watcher;
    view = watcher->is_shard() ? view_ : without_trainers_;
  }
  if (!refusal.ok()) {
    watcher->End(refusal);
  } else if (view != nullptr) {
    watcher->Offer(std::move(view));
  }
  return watcher.get();
}

void ViewFeed::Publish(const v1::View& view) {
  const auto whole = std::make_shared<const v1::View>(view);
  const std::shared_ptr<const v1::View> without = WithoutTrainers(whole);
  std::string content = ContentOf(*without);
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    absl::MutexLock lock(&mu_);
    if (view_ != nullptr && EpochOf(view) <= EpochOf(*view_)) return;
    const bool only_trainers = view_ != nullptr && content == content_;
    view_ = whole;
    without_trainers_ = without;
    content_ = std::move(content);
    for (const auto& [key, watcher] : watchers_) {
      if (watcher->is_shard() || !only_trainers) watchers.push_back(watcher);
    }
  }
  for (const std::shared_ptr<Watcher>& watcher : watchers) {
    watcher->Offer(watcher->is_shard() ? whole : without);
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
