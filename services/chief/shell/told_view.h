// A view that watchers have been sent, and the message that takes them to the next one: its
// difference to this view, which is computed once for all of them.
#ifndef CAPSTAN_CHIEF_SHELL_TOLD_VIEW_H_
#define CAPSTAN_CHIEF_SHELL_TOLD_VIEW_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// Keeps the view, and the last message that it has made. Thread-safe.
class ToldView {
 public:
  // `view` must be a whole view, not a difference.
  explicit ToldView(std::shared_ptr<const v1::View> view) : view_(std::move(view)) {}

  // Returns the message that takes a watcher to `next`: the difference, or `next` itself if that is
  // not larger. The watcher has this view, but with the epoch `has`. REQUIRES: `next` is newer than
  // `has`, and two views with the same epoch that are passed here are the same.
  std::shared_ptr<const v1::View> MessageFor(ViewEpoch has,
                                             const std::shared_ptr<const v1::View>& next);

 private:
  // Returns the message for a watcher with this view's own epoch; null: send `next` itself.
  std::shared_ptr<const v1::View> Difference(const v1::View& next);

  const std::shared_ptr<const v1::View> view_;  // Shared with the feed and writes under way.
  absl::Mutex mu_;
  ViewEpoch next_ ABSL_GUARDED_BY(mu_);  // The view that message_ leads to.
  std::shared_ptr<const v1::View> message_ ABSL_GUARDED_BY(mu_);  // Shared with writes under way.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TOLD_VIEW_H_
