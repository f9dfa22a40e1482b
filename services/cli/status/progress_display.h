// Shows the progress of a job: in place on a terminal, otherwise a line every few seconds and a
// line for each event since.
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

  // Shows the final status, which stays on the terminal.
  void ShowLast(const v1::GetStatusReply& status);

 private:
  void SayNews(const v1::GetStatusReply& status);
  std::vector<std::string> Screen(const v1::GetStatusReply& status) const;

  Terminal& terminal_;
  std::optional<v1::GetStatusReply> before_;
  std::vector<double> losses_;
  uint64_t examples_ = 0;  // The job's examples when the last loss was noted.
  absl::Time next_line_ = absl::InfinitePast();
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_PROGRESS_DISPLAY_H_
