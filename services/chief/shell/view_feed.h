// The watchers of the view: each gets the present view at once and every newer one, or only the
// newest if it is slow. One view at most waits for a watcher. Only shards are told who trains:
// others get views without the trainers, and none that differs from the one before in them alone,
// so that a thousand workers that join are not told of each other. Where a shard's process watched
// and does not any more, it may be gone.
#ifndef CAPSTAN_CHIEF_SHELL_VIEW_FEED_H_
#define CAPSTAN_CHIEF_SHELL_VIEW_FEED_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// Thread-safe.
class ViewFeed {
 public:
  // At once, in all and of one peer.
  explicit ViewFeed(size_t max_watchers, size_t max_of_a_peer = 1024)
      : max_watchers_(max_watchers), max_of_a_peer_(max_of_a_peer) {}
  ~ViewFeed();

  // The process of a shard; incarnation 0: not a shard.
  struct ShardProcess {
    uint32_t shard = 0;
    uint64_t incarnation = 0;
    friend bool operator==(const ShardProcess&, const ShardProcess&) = default;
  };

  // A new watcher's stream, of whoever calls from `peer`. Ends with RESOURCE_EXHAUSTED at once if
  // there are too many, or this peer has too many.
  grpc::ServerWriteReactor<v1::View>* Watch(const std::string& peer, ShardProcess process);
  grpc::ServerWriteReactor<v1::View>* Watch(const std::string& peer = "") {
    return Watch(peer, {});
  }

  // Processes of shards whose watch has ended since the last call; those too many are left out.
  std::vector<ShardProcess> TakeEnded();
  // The process has a watch, perhaps another one.
  bool IsWatching(uint64_t incarnation);

  // Does nothing if a view as new has been published.
  void Publish(const v1::View& view);

  // Ends all streams, and from now on every new one, with UNAVAILABLE.
  void Close();

 private:
  class Watcher;
  void Remove(Watcher* watcher);

  const size_t max_watchers_;
  const size_t max_of_a_peer_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // The present view, and the same without trainers; both shared with writes under way.
  std::shared_ptr<const v1::View> view_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const v1::View> without_trainers_ ABSL_GUARDED_BY(mu_);
  std::string content_ ABSL_GUARDED_BY(mu_);  // What the latter holds beside its epoch.
  std::map<std::string, size_t> peers_ ABSL_GUARDED_BY(mu_);  // Watchers of each.
  std::map<uint64_t, size_t> shards_ ABSL_GUARDED_BY(mu_);    // Watchers of each incarnation.
  std::vector<ShardProcess> ended_ ABSL_GUARDED_BY(mu_);
  // Shared with a Publish or Close that is under way.
  std::map<Watcher*, std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_VIEW_FEED_H_
