// Sends views to the watchers. Each gets the present view at once, and every newer one, or only the
// newest if it is slow: at most one view waits for a watcher. A watcher that reads differences gets
// the first view whole, and each further one as its difference to the one that it got before, if
// that is smaller. Only shards are told who trains. Others get views without the trainers, and none
// that differs from the one before in the trainers alone, so that a thousand workers that join are
// not told of each other. A shard's process whose watch has ended may be gone: see TakeEnded.
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
  // Bounds of the watchers at one time: of all, and of those from one peer.
  explicit ViewFeed(size_t max_watchers, size_t max_of_a_peer = 1024)
      : max_watchers_(max_watchers), max_of_a_peer_(max_of_a_peer) {}
  ~ViewFeed();

  // The process of a shard; incarnation 0: the watcher is not a shard.
  struct ShardProcess {
    uint32_t shard = 0;
    uint64_t incarnation = 0;
    friend bool operator==(const ShardProcess&, const ShardProcess&) = default;
  };

  // Who watches.
  struct Caller {
    std::string peer;  // From where it calls.
    ShardProcess process;
    bool differences = false;  // It reads differences.
  };

  // Returns the stream of a new watcher. The stream ends at once with RESOURCE_EXHAUSTED if there
  // are too many watchers in all or from this peer, with UNAVAILABLE after Close.
  grpc::ServerWriteReactor<v1::View>* Watch(Caller caller);

  // Returns the processes of shards whose last watch has ended since the last call; some are left
  // out if there are too many. A stream that Watch refused was no watch.
  std::vector<ShardProcess> TakeEnded();
  // Returns true if the process has a watch, perhaps a new one.
  bool IsWatching(uint64_t incarnation);

  // Does nothing if a view of this or a later epoch has been published.
  void Publish(const v1::View& view);

  // Ends all streams, and from now on every new one, with UNAVAILABLE.
  void Close();

 private:
  class Watcher;
  // A view as it is told to watchers of one kind.
  struct Telling {
    std::shared_ptr<const v1::View> view;  // Null: there is none yet.
    // What its watchers have then: the view, or an earlier one that differs in its epoch alone. So
    // all who have the same share one, whenever they have begun to watch.
    std::shared_ptr<ToldView> base;
  };
  static Telling NewTelling(std::shared_ptr<const v1::View> view);
  void Remove(Watcher* watcher);

  const size_t max_watchers_;
  const size_t max_of_a_peer_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // The present view, and the same without trainers. All is shared with the watchers.
  Telling to_shards_ ABSL_GUARDED_BY(mu_);
  Telling to_others_ ABSL_GUARDED_BY(mu_);
  std::string content_ ABSL_GUARDED_BY(mu_);  // What to_others_ tells beside its epoch.
  std::map<std::string, size_t> peers_ ABSL_GUARDED_BY(mu_);  // How many watchers each has.
  std::map<uint64_t, size_t> shards_ ABSL_GUARDED_BY(mu_);    // By incarnation.
  std::vector<ShardProcess> ended_ ABSL_GUARDED_BY(mu_);
  // Shared with a Publish or Close that is under way.
  std::map<Watcher*, std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_VIEW_FEED_H_
