// Where the command writes for people: a terminal, on which some lines are drawn again and again in
// place, or a file or pipe, which only gets whole lines one after the other.
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
  // Writes to the file descriptor `fd`. With `plain` it is treated as a file even if it is none.
  explicit Terminal(int fd, bool plain = false);

  // True if it can draw in place.
  bool live() const { return live_; }

  // Its present size, and what it can show.
  ViewOptions view() const;

  // Replaces what the last Draw has drawn. REQUIRES: live().
  void Draw(const std::vector<std::string>& lines);

  // A line that stays; above what is drawn.
  void Say(const std::string& line);

  // What is drawn stays where it is, and the next Draw begins below it.
  void Keep();

 private:
  // Back to where what is drawn begins.
  std::string Back();
  void Write(std::string_view text);

  const int fd_;
  const bool live_;
  const bool color_;
  const bool unicode_;
  std::vector<std::string> drawn_;
  int width_ = 0;  // When it was drawn.
  int height_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_TERMINAL_H_
