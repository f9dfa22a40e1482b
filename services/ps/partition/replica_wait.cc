#include "ps/partition/replica_wait.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace capstan::ps {
namespace {

// Counts the streams on which operations of one wait have yet to be carried out.
class Missing {
 public:
  Missing(size_t left, absl::AnyInvocable<void(const absl::Status&)> done)
      : left_(left), done_(std::move(done)) {}

  void One(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::Status all;
    {
      absl::MutexLock lock(&mu_);
      status_.Update(status);
      if (--left_ > 0) return;
      all = status_;
    }
    done_(all);
  }

 private:
  absl::Mutex mu_;
  size_t left_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void(const absl::Status&)> done_;  // Called by the last stream only.
};

}  // namespace

void ReplicaWait::Add(const std::shared_ptr<ReplicaStream>& stream, PartitionIndex partition,
                      uint64_t number) {
  auto of = std::find_if(streams_.begin(), streams_.end(),
                         [&stream](const OfStream& one) { return one.stream == stream; });
  if (of == streams_.end()) of = streams_.insert(of, {stream, {}});
  of->operations.push_back({partition, number});
}

void ReplicaWait::Then(absl::AnyInvocable<void(const absl::Status&)> done) && {
  if (streams_.empty()) return done(absl::OkStatus());
  const auto missing = std::make_shared<Missing>(streams_.size(), std::move(done));
  for (OfStream& of : streams_) {
    of.stream->Await(std::move(of.operations),
                     [missing](const absl::Status& status) { missing->One(status); });
  }
  Wake();
  streams_.clear();
}

void ReplicaWait::Wake() const {
  for (const OfStream& of : streams_) of.stream->Wake();
}

}  // namespace capstan::ps
