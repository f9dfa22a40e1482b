// Sends views to the watchers. Each gets the present view at once, and then every newer one, or
// only the newest if it is slow: at most one view waits for a watcher. A watcher that accepts
// differences gets the first view whole, and each further one as its difference to the previous
// one, if that is smaller. Only shards get views with the trainers. Others get views without them,
// and no view that differs from the one before in the trainers alone, so that the workers of a
// large job are not informed of each other. If the watch of a shard's process ends, the process may
// have ended: see TakeEnded.
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
#include "chief/shell/told_view.h"

namespace capstan::chief {

// Thread-safe.
class ViewFeed {
 public:
  // Limits the number of watchers at one time: in all, and from one peer.
  explicit ViewFeed(size_t max_watchers, size_t max_of_a_peer = 1024)
      : max_watchers_(max_watchers), max_of_a_peer_(max_of_a_peer) {}
  ~ViewFeed();

  // The process of a shard. An incarnation of 0 means that the watcher is not a shard.
  struct ShardProcess {
    uint32_t shard = 0;
    uint64_t incarnation = 0;
    friend bool operator==(const ShardProcess&, const ShardProcess&) = default;
  };

  // A peer that watches.
  struct Caller {
    std::string peer;  // The address from which it calls.
    ShardProcess process;
    bool differences = false;  // It accepts differences.
  };

  // Returns the stream of a new watcher. The stream ends at once with RESOURCE_EXHAUSTED if there
  // are too many watchers, in all or from this peer, and with UNAVAILABLE after Close.
  grpc::ServerWriteReactor<v1::View>* Watch(Caller caller);

  // Returns the processes of shards whose last watch has ended since the last call; if there are
  // too many, some are omitted. A stream that Watch has refused does not count as a watch.
  std::vector<ShardProcess> TakeEnded();
  // Returns true if the process has a watch, perhaps a new one.
  bool IsWatching(uint64_t incarnation);

  // Does nothing if a view of this or a later epoch has been published.
  void Publish(const v1::View& view);

  // Ends all streams, and from now on every new one at once, with UNAVAILABLE.
  void Close();

 private:
  class Watcher;
  // The newest view for watchers of one kind.
  struct Telling {
    std::shared_ptr<const v1::View> view;  // Null: there is none yet.
    // What its watchers have when they get it: the view, or an earlier one that differs only in its
    // epoch. All watchers that have the same share one ToldView, whenever they began to watch.
    std::shared_ptr<ToldView> base;
  };
  static Telling NewTelling(std::shared_ptr<const v1::View> view);
  void Remove(Watcher* watcher);

  const size_t max_watchers_;
  const size_t max_of_a_peer_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // The present view with and without trainers. All of it is shared with the watchers.
  Telling to_shards_ ABSL_GUARDED_BY(mu_);
  Telling to_others_ ABSL_GUARDED_BY(mu_);
  std::string content_ ABSL_GUARDED_BY(mu_);  // The content of to_others_ without its epoch.
  std::map<std::string, size_t> peers_ ABSL_GUARDED_BY(mu_);  // How many watchers each has.
  std::map<uint64_t, size_t> shards_ ABSL_GUARDED_BY(mu_);    // By incarnation.
  std::vector<ShardProcess> ended_ ABSL_GUARDED_BY(mu_);
  // Shared with a Publish or Close that is under way.
  std::map<Watcher*, std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_VIEW_FEED_H_
