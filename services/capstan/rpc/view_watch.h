// The watch of a job's view: how shards, workers and programs that are no part of a job are told
// its views by the chief.
#ifndef CAPSTAN_RPC_VIEW_WATCH_H_
#define CAPSTAN_RPC_VIEW_WATCH_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Asks the chief for the present view and every newer one, in polls of `loop`. The chief may tell
// all but the first by their differences; `on_view` gets each whole. `on_end` runs once after the
// last view; whoever goes on watching calls this again. A difference that cannot be read ends the
// watch, with the error of ViewReader; it is logged.
CallId WatchView(EventLoop& loop, const Channel& chief, v1::WatchViewRequest request,
                 absl::AnyInvocable<void(v1::View)> on_view,
                 absl::AnyInvocable<void(absl::Status)> on_end);

}  // namespace capstan

#endif  // CAPSTAN_RPC_VIEW_WATCH_H_
