// A shard's talk with the coordinator of the synchronous rounds, which is on the owner of partition
// 0: whose gradients the open round counts. It only makes rounds lighter, for what is counted is
// added, and its memory freed, before the round closes; without it they close all the same, where
// the shard has room for a gradient of every lane.
#ifndef CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_
#define CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_

#include <atomic>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/coordinator_watch.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Has a thread of its own, which also adds: a round's gradients are many times the model.
// *Thread-safe*.
class CoordinatorLink {
 public:
  // `shard` must outlive the link.
  explicit CoordinatorLink(Shard& shard);
  ~CoordinatorLink();
  CoordinatorLink(const CoordinatorLink&) = delete;
  CoordinatorLink& operator=(const CoordinatorLink&) = delete;

  // The view says where the coordinator is, and of which timeline.
  void SetView(const v1::View& view);

 private:
  void Run();
  void Watch();

  Shard& shard_;
  EventLoop loop_;
  // The thread's own.
  CoordinatorWatch watch_;
  std::string connected_to_;
  Channel channel_;
  bool watching_ = false;
  CallId call_{};
  absl::Time next_watch_ = absl::InfinitePast();

  std::atomic<bool> stopping_{false};
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_
