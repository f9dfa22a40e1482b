#include "capstan/data/feed/batch_prefetcher.h"

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/data/feed/feed.h"

namespace capstan {
namespace {

absl::Status UnknownFeed(FeedId feed) {
  return absl::CancelledError(absl::StrCat("feed ", static_cast<uint64_t>(feed), " is closed"));
}

}  // namespace

class BatchPrefetcher::Impl {
 public:
  Impl(ReaderOptions reader, PrefetchOptions options, std::shared_ptr<const Source> source)
      : options_(options), source_(std::move(source)), reader_(std::move(reader), source_) {}

  void Run();  // What the prefetcher's thread does until it is stopped.

  // Tells the thread to end and waits for that, for at most options_.parting. All callbacks become
  // orphans. Returns false if the thread has not ended in time.
  bool Stop() {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    const bool ended = mu_.AwaitWithTimeout(absl::Condition(&ended_), options_.parting);
    for (auto& [id, entry] : feeds_) {
      if (entry->notify) orphans_.push_back(std::exchange(entry->notify, nullptr));
    }
    return ended;
  }

  // Takes the callbacks of the feeds that were open when the prefetcher was stopped; the caller
  // must call them.
  std::vector<std::function<void()>> TakeOrphans() {
    absl::MutexLock lock(&mu_);
    return std::exchange(orphans_, {});
  }

  std::optional<ReadUnderWay> read_under_way() const { return source_.under_way(); }

  FeedId Open(uint64_t first) {
    absl::MutexLock lock(&mu_);
    const FeedId id{++last_id_};
    feeds_[id] = std::make_shared<Entry>(first, options_.batches_ahead);
    return id;
  }

  void Append(FeedId id, TaskReader::Load task) {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    if (found == feeds_.end()) return;
    found->second->feed.Append(std::move(task));
    dirty_ = true;
  }

  void Finish(FeedId id) {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    if (found == feeds_.end()) return;
    found->second->feed.Finish();
    dirty_ = true;  // The reader may be waiting for the end of the feed.
  }

  void Close(FeedId id) {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    if (found == feeds_.end()) return;
    if (found->second->notify) orphans_.push_back(std::move(found->second->notify));
    feeds_.erase(found);
    dirty_ = true;
  }

  std::optional<absl::StatusOr<FedBatch>> TryRead(FeedId id, uint64_t number,
                                                  std::function<void()> notify) {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    if (found == feeds_.end()) return UnknownFeed(id);
    Entry& entry = *found->second;
    std::optional<absl::StatusOr<FedBatch>> answer = entry.feed.Ask(number);
    entry.number = number;
    entry.notify = answer.has_value() ? nullptr : std::move(notify);
    dirty_ = true;
    return answer;
  }

  FedTask TaskAt(FeedId id, uint64_t place) const {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    return found == feeds_.end() ? FedTask() : found->second->feed.TaskAt(place);
  }

  void Forget(FeedId id, uint64_t place) {
    absl::MutexLock lock(&mu_);
    auto found = feeds_.find(id);
    if (found != feeds_.end()) found->second->feed.Forget(place);
  }

 private:
  using Notify = std::function<void()>;
  struct Entry {
    Entry(uint64_t first, uint32_t ahead) : feed(first, ahead) {}
    Feed feed;
    uint64_t number = 0;  // If `notify` is set: the requested batch that was not returned.
    Notify notify;
  };
  // Shared by the map and the thread while it works for the feed, which may be closed meanwhile.
  using EntryPointer = std::shared_ptr<Entry>;
  struct Job {
    EntryPointer entry;
    Feed::Work work;
  };

  bool Turn() ABSL_LOCKS_EXCLUDED(mu_);
  std::optional<Job> NextJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayReadAhead() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  std::vector<Notify> DueNotifications() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Do(Job job) ABSL_LOCKS_EXCLUDED(mu_);

  const PrefetchOptions options_;
  const WatchedSource source_;
  TaskReader reader_;  // Used by the thread alone.

  mutable absl::Mutex mu_;
  std::map<FeedId, EntryPointer> feeds_ ABSL_GUARDED_BY(mu_);
  std::vector<Notify> orphans_ ABSL_GUARDED_BY(mu_);  // Callbacks of feeds that were closed.
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  FeedId last_served_ ABSL_GUARDED_BY(mu_) = FeedId{0};
  bool dirty_ ABSL_GUARDED_BY(mu_) = false;  // There may be work or a callback due.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

void BatchPrefetcher::Impl::Run() {
  while (Turn()) {
  }
  absl::MutexLock lock(&mu_);
  ended_ = true;
}

// Waits for something to do, calls due callbacks and does one piece of work. Returns false once the
// prefetcher is stopped.
bool BatchPrefetcher::Impl::Turn() {
  std::optional<Job> job;
  std::vector<Notify> due;
  {
    absl::MutexLock lock(&mu_);
    const auto awake = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return dirty_ || stopping_; };
    mu_.Await(absl::Condition(&awake));
    if (stopping_) return false;
    due = DueNotifications();  // Before the next job: a feed whose batch is ready must not wait.
    job = NextJob();
    if (!job) {  // Looking for one may have found the end of a feed.
      for (Notify& notify : DueNotifications()) due.push_back(std::move(notify));
    }
    dirty_ = job.has_value();
  }
  for (const Notify& notify : due) notify();
  if (job.has_value()) Do(*std::move(job));
  return true;
}

bool BatchPrefetcher::Impl::MayReadAhead() const {
  uint64_t bytes = 0;
  for (const auto& [id, entry] : feeds_) bytes += entry->feed.bytes_ahead();
  return bytes < options_.bytes_ahead;
}

// Chooses the next piece of work: first from feeds whose reader is waiting, then from the others,
// in turns, as long as these may read ahead.
std::optional<BatchPrefetcher::Impl::Job> BatchPrefetcher::Impl::NextJob() {
  for (const bool waiting : {true, false}) {
    if (!waiting && !MayReadAhead()) break;
    auto at = feeds_.upper_bound(last_served_);
    for (size_t i = 0; i < feeds_.size(); ++i, ++at) {
      if (at == feeds_.end()) at = feeds_.begin();
      if ((at->second->notify != nullptr) != waiting) continue;
      std::optional<Feed::Work> work = at->second->feed.NextWork();
      if (!work.has_value()) continue;
      if (work->load) work->load->packed = feeds_.size() > options_.unpacked_feeds;
      last_served_ = at->first;
      return Job{at->second, *std::move(work)};
    }
  }
  return std::nullopt;
}

std::vector<std::function<void()>> BatchPrefetcher::Impl::DueNotifications() {
  std::vector<Notify> due = std::exchange(orphans_, {});
  for (auto& [id, entry] : feeds_) {
    if (entry->notify == nullptr || !entry->feed.Ask(entry->number).has_value()) continue;
    due.push_back(std::exchange(entry->notify, nullptr));
  }
  return due;
}

void BatchPrefetcher::Impl::Do(Job job) {
  if (job.work.load.has_value()) {
    absl::StatusOr<std::shared_ptr<const LoadedTask>> task = reader_.Read(*job.work.load);
    absl::MutexLock lock(&mu_);
    job.entry->feed.Loaded(std::move(task));
    return;
  }
  auto batch = std::make_shared<Batch>();
  const absl::Status read = job.work.task->ReadBatch(job.work.batch_in_task, *batch);
  absl::MutexLock lock(&mu_);
  if (read.ok()) {
    job.entry->feed.Cut(std::move(batch));
  } else {
    job.entry->feed.Cut(read);
  }
}

BatchPrefetcher::BatchPrefetcher(ReaderOptions reader, PrefetchOptions options,
                                 std::shared_ptr<const Source> source)
    : impl_(std::make_shared<Impl>(std::move(reader), options, std::move(source))),
      thread_([impl = impl_] { impl->Run(); }) {}

BatchPrefetcher::~BatchPrefetcher() {
  impl_->Stop() ? thread_.join() : thread_.detach();
  for (const std::function<void()>& notify : impl_->TakeOrphans()) notify();
}

FeedId BatchPrefetcher::Open(uint64_t first) { return impl_->Open(first); }
void BatchPrefetcher::Append(FeedId feed, TaskReader::Load task) {
  impl_->Append(feed, std::move(task));
}
void BatchPrefetcher::Finish(FeedId feed) { impl_->Finish(feed); }
void BatchPrefetcher::Close(FeedId feed) { impl_->Close(feed); }

std::optional<absl::StatusOr<FedBatch>> BatchPrefetcher::TryRead(FeedId feed, uint64_t number,
                                                                 std::function<void()> notify) {
  return impl_->TryRead(feed, number, std::move(notify));
}

absl::StatusOr<FedBatch> BatchPrefetcher::Read(FeedId feed, uint64_t number, absl::Time deadline) {
  // Shared by this call and the callback, which may come after the deadline.
  struct Signal {
    absl::Mutex mu;
    bool raised ABSL_GUARDED_BY(mu) = false;
  };
  while (true) {
    auto signal = std::make_shared<Signal>();
    auto answer = TryRead(feed, number, [signal] {
      absl::MutexLock lock(&signal->mu);
      signal->raised = true;
    });
    if (answer.has_value()) return *std::move(answer);
    absl::MutexLock lock(&signal->mu);
    if (!signal->mu.AwaitWithDeadline(absl::Condition(&signal->raised), deadline)) {
      return absl::DeadlineExceededError(absl::StrCat("batch ", number, " is not read yet"));
    }
  }
}

std::optional<ReadUnderWay> BatchPrefetcher::read_under_way() const {
  return impl_->read_under_way();
}

FedTask BatchPrefetcher::TaskAt(FeedId feed, uint64_t place) const {
  return impl_->TaskAt(feed, place);
}

void BatchPrefetcher::Forget(FeedId feed, uint64_t place) { impl_->Forget(feed, place); }

}  // namespace capstan
