// The watch of a job's view: how shards, workers and programs outside of the job receive its views
// from the chief.
#ifndef CAPSTAN_RPC_VIEW_WATCH_H_
#define CAPSTAN_RPC_VIEW_WATCH_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Asks the chief for the present view and every newer one, in polls of `loop`. The chief may send
// all but the first as differences; `on_view` gets each as a whole view. `on_end` runs once after
// the last view; to go on watching, call this again. A difference that cannot be applied ends the
// watch with the error of ViewReader; it is logged.
CallId WatchView(EventLoop& loop, const Channel& chief, v1::WatchViewRequest request,
                 absl::AnyInvocable<void(v1::View)> on_view,
                 absl::AnyInvocable<void(absl::Status)> on_end);

}  // namespace capstan

#endif  // CAPSTAN_RPC_VIEW_WATCH_H_
