// What is typed while the live screen is shown.
#ifndef CAPSTAN_CLI_STATUS_KEYS_H_
#define CAPSTAN_CLI_STATUS_KEYS_H_

#include <termios.h>

#include "absl/time/time.h"
#include "capstan/base/shutdown.h"

namespace capstan::cli {

// While it lives keys of the terminal `fd` are read one by one and are not echoed; Ctrl-C stays
// Ctrl-C. If `fd` is no terminal, or this process is not in its foreground, nothing is read.
// Thread-compatible.
class Keys {
 public:
  explicit Keys(int fd);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Waits so long, less when a shutdown is asked for or q is pressed, which it returns.
  bool LeaveWithin(absl::Duration timeout, const Shutdown& shutdown);

 private:
  const int fd_;
  bool changed_ = false;
  bool reads_ = false;
  termios before_{};
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KEYS_H_
