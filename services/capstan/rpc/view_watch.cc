#include "capstan/rpc/view_watch.h"

#include <utility>

#include "absl/status/statusor.h"
#include "capstan/base/log.h"
#include "capstan/placement/view_reader.h"
#include "capstan/rpc/limits.h"

namespace capstan {

CallId WatchView(EventLoop& loop, const Channel& chief, v1::WatchViewRequest request,
                 absl::AnyInvocable<void(v1::View)> on_view,
                 absl::AnyInvocable<void(absl::Status)> on_end) {
  request.set_differences(true);
  return loop.Stream<v1::View>(
      chief, "/capstan.v1.Chief/WatchView", request,
      // A view is at most as large as one that can be sent whole.
      [reader = ViewReader(/*most_bytes=*/kMaxMessageBytes),
       on_view = std::move(on_view)](v1::View message) mutable -> absl::Status {
        absl::StatusOr<v1::View> view = reader.Read(std::move(message));
        if (!view.ok()) {
          log::Warn("the watch of the chief's views ends", {{"error", view.status()}});
          return view.status();
        }
        on_view(*std::move(view));
        return absl::OkStatus();
      },
      std::move(on_end));
}

}  // namespace capstan
