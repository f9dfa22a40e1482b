// Renders a job's status as a screen or a log line. Pure functions of the chief's answer, which use
// neither a terminal nor a clock.
#ifndef CAPSTAN_CLI_STATUS_STATUS_VIEW_H_
#define CAPSTAN_CLI_STATUS_STATUS_VIEW_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

struct ViewOptions {
  int width = 80;
  int height = 0;  // The most lines; 0: no limit.
  bool color = false;
  bool unicode = true;
};

// Returns the lines of the live screen, each at most `width` cells wide. `losses` are the losses of
// earlier looks, for the curve.
std::vector<std::string> RenderScreen(const v1::GetStatusReply& status,
                                      absl::Span<const double> losses, const ViewOptions& options);

// The same facts in one line, for a log.
std::string RenderLine(const v1::GetStatusReply& status);

// "AUC 0.7812 logloss 0.4512 accuracy 0.7765": an evaluation's metrics of one scope
// (capstan/base/metric_name.h), the most telling first, at most `at_most`.
inline constexpr int kAllMetrics = 100;
std::string RenderMetrics(const v1::Evaluation& evaluation, int at_most = kAllMetrics,
                          std::string_view scope = "");

// Returns the scopes except the empty one.
std::vector<std::string> FurtherScopes(const v1::Evaluation& evaluation);

// "running", "completed" ...
std::string StateName(v1::JobState state);

// Returns whether the job has completed or failed.
bool IsOver(const v1::GetStatusReply& status);

// The last evaluation, or nullptr.
const v1::Evaluation* LastEvaluation(const v1::GetStatusReply& status);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_STATUS_VIEW_H_
