#include "cli/serve/load_pauses.h"

#include <algorithm>

namespace capstan::cli {
namespace {

bool DoesNotFit(const absl::Status& why) {
  return absl::IsFailedPrecondition(why) || absl::IsInvalidArgument(why);
}

}  // namespace

absl::Status LoadPauses::Standing(const std::string& folder, absl::Time now) const {
  return folder == folder_ && now < until_ ? why_ : absl::OkStatus();
}

void LoadPauses::Failed(const std::string& folder, const absl::Status& why, absl::Time now) {
  const absl::Duration next = folder == folder_ ? 2 * pause_ : first_;
  pause_ = DoesNotFit(why) ? kLongest : std::min(next, kLongest);
  folder_ = folder;
  why_ = why;
  until_ = now + pause_;
}

}  // namespace capstan::cli
