#include "cli/status/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace capstan::cli {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kMinWidth = 40;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool CanDraw(int fd) {
  const std::string term = Environment("TERM");
  return isatty(fd) == 1 && !term.empty() && term != "dumb";
}

// Returns whether the locale is UTF-8, as the C library decides: LC_ALL over LC_CTYPE over LANG.
bool SpeaksUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = absl::AsciiStrToLower(Environment(name));
    if (locale.empty()) continue;
    return absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
  }
  return false;
}

}  // namespace

Terminal::Terminal(int fd, bool plain)
    : fd_(fd),
      live_(!plain && CanDraw(fd)),
      color_(live_ && Environment("NO_COLOR").empty()),  // no-color.org
      unicode_(SpeaksUtf8()) {}

ViewOptions Terminal::view() const {
  ViewOptions view{.width = kDefaultWidth, .color = color_, .unicode = unicode_};
  winsize size{};
  if (ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    view.width = std::max<int>(kMinWidth, size.ws_col);
    view.height = std::max(0, size.ws_row - 1);  // The cursor stands below the last line.
  }
  return view;
}

void Terminal::Draw(const std::vector<std::string>& lines) {
  std::string frame = Back();
  for (const std::string& line : lines) absl::StrAppend(&frame, line, "\x1b[K\n");
  absl::StrAppend(&frame, "\x1b[J");
  Write(frame);
  drawn_ = lines;
}

void Terminal::Say(const std::string& line) {
  if (drawn_.empty()) return Write(line + "\n");
  Write(absl::StrCat(Back(), "\x1b[J", line, "\n"));
  std::vector<std::string> lines;
  lines.swap(drawn_);
  Draw(lines);
}

// If the window has changed its size, terminals disagree on where the old lines are, so the screen
// is cleared.
std::string Terminal::Back() {
  const ViewOptions now = view();
  const bool resized = now.width != width_ || now.height != height_;
  width_ = now.width;
  height_ = now.height;
  if (drawn_.empty()) return "";
  return resized ? "\x1b[H\x1b[2J" : absl::StrCat("\x1b[", drawn_.size(), "A\r");
}

void Terminal::Keep() { drawn_.clear(); }

void Terminal::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // The reader is gone; the job goes on.
    text.remove_prefix(written);
  }
}

}  // namespace capstan::cli
