#include "cli/status/progress_display.h"

#include "cli/status/news.h"
#include "cli/status/status_view.h"

namespace capstan::cli {
namespace {

// Beyond so many losses every other one is forgotten, so that the curve still shows the whole job.
constexpr size_t kMaxLosses = 240;

void Thin(std::vector<double>& values) {
  for (size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
  values.resize((values.size() + 1) / 2);
}

}  // namespace

void ProgressDisplay::Show(const v1::GetStatusReply& status, absl::Time now) {
  if (status.examples() > examples_ && status.loss() != 0) {
    examples_ = status.examples();
    losses_.push_back(status.loss());
    if (losses_.size() > kMaxLosses) Thin(losses_);
  }
  if (terminal_.live()) return terminal_.Draw(Screen(status));
  SayNews(status);
  if (now < next_line_) return;
  next_line_ = now + kLinePeriod;
  terminal_.Say(RenderLine(status));
}

void ProgressDisplay::ShowLast(const v1::GetStatusReply& status) {
  if (!terminal_.live()) {
    SayNews(status);
    return terminal_.Say(RenderLine(status));
  }
  terminal_.Draw(Screen(status));
  terminal_.Keep();
}

// Events before the first look are not reported, but conditions that still hold are.
void ProgressDisplay::SayNews(const v1::GetStatusReply& status) {
  if (!before_) *before_.emplace().mutable_losses() = status.losses();
  for (const std::string& line : News(*before_, status)) terminal_.Say(line);
  before_ = status;
}

std::vector<std::string> ProgressDisplay::Screen(const v1::GetStatusReply& status) const {
  return RenderScreen(status, losses_, terminal_.view());
}

}  // namespace capstan::cli
