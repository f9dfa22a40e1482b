#include "chief/shell/process_end.h"

#include <algorithm>

namespace capstan::chief {

bool ProcessEnd::IsDue(bool ended, bool stored, absl::Time now) {
  if (!ended) return false;
  ended_at_ = std::min(ended_at_, now);
  return now - ended_at_ >= (stored ? kLinger : kLastWrite);
}

int ExitCodeOfJob(const v1::GetStatusReply& status) {
  if (status.state() != v1::JOB_STATE_FAILED) return 0;
  return status.failure_kind() == v1::FAILURE_KIND_BAD_INPUT ? 2 : 1;
}

}  // namespace capstan::chief
