#include "chief/shell/change_teller.h"

#include <optional>

namespace capstan::chief {
namespace {

constexpr absl::Duration kLookAtFile = absl::Seconds(2);

}  // namespace

void ChangeTeller::Glance(absl::Time now) {
  if (now < next_) return;
  next_ = now + kLookAtFile;
  (void)thread_.Post([this] { Look(); });  // Fails only if earlier checks take long.
}

void ChangeTeller::Look() {
  if (std::optional<std::string> change = watch_.Look()) tell_(*std::move(change));
}

}  // namespace capstan::chief
