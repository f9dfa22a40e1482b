// Shows how a job goes, as it goes: in place on a terminal, otherwise as a line
// every few seconds and one for what has happened since.
#ifndef CAPSTAN_CLI_STATUS_PROGRESS_DISPLAY_H_
#define CAPSTAN_CLI_STATUS_PROGRESS_DISPLAY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "cli/status/terminal.h"

namespace capstan::cli {

// Thread-compatible.
class ProgressDisplay {
 public:
  static constexpr absl::Duration kLinePeriod = absl::Seconds(3);

  // `terminal` must outlive this object.
  explicit ProgressDisplay(Terminal& terminal) : terminal_(terminal) {}

  // To be called several times a second.
  void Show(const v1::GetStatusReply& status, absl::Time now);

  // The last look at it, which stays.
  void ShowLast(const v1::GetStatusReply& status);

 private:
  void SayNews(const v1::GetStatusReply& status);
  std::vector<std::string> Screen(const v1::GetStatusReply& status) const;

  Terminal& terminal_;
  std::optional<v1::GetStatusReply> before_;
  std::vector<double> losses_;
  uint64_t examples_ = 0;  // When the last loss was noted.
  absl::Time next_line_ = absl::InfinitePast();
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_PROGRESS_DISPLAY_H_
