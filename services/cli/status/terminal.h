// Writes for people: to a terminal, on which some lines are redrawn in place, or to a file or pipe,
// which only gets whole lines one after the other.
#ifndef CAPSTAN_CLI_STATUS_TERMINAL_H_
#define CAPSTAN_CLI_STATUS_TERMINAL_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/status/status_view.h"

namespace capstan::cli {

// Thread-compatible.
class Terminal {
 public:
  // Writes to the file descriptor `fd`. With `plain` a terminal is treated as a file.
  explicit Terminal(int fd, bool plain = false);

  // True: lines can be redrawn in place.
  bool live() const { return live_; }

  // Returns the terminal's present size, and what it can show.
  ViewOptions view() const;

  // Replaces what the last Draw has drawn. REQUIRES: live().
  void Draw(const std::vector<std::string>& lines);

  // Writes a line that stays, above the drawn lines.
  void Say(const std::string& line);

  // Leaves the drawn lines where they are; the next Draw begins below them.
  void Keep();

 private:
  // Returns the escape sequence that moves to the first of the drawn lines.
  std::string Back();
  void Write(std::string_view text);

  const int fd_;
  const bool live_;
  const bool color_;
  const bool unicode_;
  std::vector<std::string> drawn_;
  int width_ = 0;  // The terminal's size at the last Draw.
  int height_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_TERMINAL_H_
