#include "chief/state/state_writer.h"

#include "chief/state/pause.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kFirstWritePause = absl::Milliseconds(100);
constexpr absl::Duration kLongestWritePause = absl::Seconds(5);

}  // namespace

void StateWriter::Renew(absl::Time now, absl::Duration age) {
  if (!durable_ || under_way_ || urgent_ > stored_ || now < stood_at_ + age) return;
  (void)Require();
}

bool StateWriter::TakeDue(absl::Time now) {
  if (!durable_ || under_way_ || superseded_ || now < again_ || stored_ == asked_) return false;
  if (urgent_ <= stored_ && now < begun_ + kLazily) return false;
  under_way_ = true;
  writing_ = asked_;
  begun_ = now;
  return true;
}

void StateWriter::OnStored(const absl::Status& status, absl::Time now) {
  under_way_ = false;
  last_ = status;
  if (status.ok()) {
    stored_ = writing_;
    stood_at_ = begun_;
    failures_ = 0;
    return;
  }
  superseded_ = superseded_ || absl::IsAborted(status);
  again_ = now + PauseAfter(failures_, kFirstWritePause, kLongestWritePause);
  ++failures_;
}

}  // namespace capstan::chief
