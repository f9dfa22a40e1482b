#include "chief/shell/told_view.h"

#include "capstan/placement/view_difference.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::chief {

std::shared_ptr<const v1::View> ToldView::MessageFor(ViewEpoch has,
                                                     const std::shared_ptr<const v1::View>& next) {
  std::shared_ptr<const v1::View> message = Difference(*next);
  if (message == nullptr) return next;
  if (ViewEpochFromProto(message->difference().base()) == has) return message;
  auto own = std::make_shared<v1::View>(*message);
  ToProto(has, *own->mutable_difference()->mutable_base());
  return own;
}

// The first watcher that needs it computes it, and the others wait for it.
std::shared_ptr<const v1::View> ToldView::Difference(const v1::View& next) {
  absl::MutexLock lock(&mu_);
  if (next_ == EpochOf(next)) return message_;
  auto message = std::make_shared<v1::View>();
  *message->mutable_difference() = DifferenceOf(*view_, next);
  if (message->ByteSizeLong() >= next.ByteSizeLong()) message = nullptr;
  next_ = EpochOf(next);
  message_ = message;
  return message;
}

}  // namespace capstan::chief
