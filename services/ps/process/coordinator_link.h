// Asks the coordinator of the synchronous rounds, which is on the owner of partition 0, which lanes
// the open round counts, so that the shard can add their gradients and free the memory before the
// round closes. If the coordinator does not answer, rounds can still close as long as the shard has
// memory for a gradient of every lane. Otherwise lanes are refused until the coordinator answers
// again; the log says so.
//
// Another link asks it for the commit of each closed round. To a shard that has not got the commit
// in this way, requests carry it.
#ifndef CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_
#define CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/process/reminder.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/coordinator_watch.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Has a thread of its own, which also adds the counted gradients: those of a round are many times
// as large as the model. *Thread-safe*.
class CoordinatorLink {
 public:
  // Both must outlive the link. `tls`: the identity shown to the coordinator; null: plaintext.
  CoordinatorLink(Shard& shard, const Tls* tls, Watched watched = Watched::kCounts);
  ~CoordinatorLink();
  CoordinatorLink(const CoordinatorLink&) = delete;
  CoordinatorLink& operator=(const CoordinatorLink&) = delete;

  // Takes the coordinator's address and the timeline from `view`.
  void SetView(const v1::View& view);

 private:
  void Run();
  void Watch();
  void OnUnheard(const absl::Status& why);
  void TellSilence(const absl::Status& why);

  Shard& shard_;
  const Tls* const tls_;
  const char* const silence_;  // What the log says of a coordinator that does not answer.
  EventLoop loop_;
  // Confined to `thread_`.
  CoordinatorWatch watch_;
  std::string connected_to_;
  Channel channel_;
  bool watching_ = false;
  CallId call_{};
  bool void_ = false;  // SetView() has cancelled the call.
  absl::Time next_watch_ = absl::InfinitePast();
  std::optional<Reminder> unheard_;  // Set by the first of several failed calls in a row.

  std::atomic<bool> stopping_{false};
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_COORDINATOR_LINK_H_
