// Reads the keys that are typed while the live screen is shown.
#ifndef CAPSTAN_CLI_STATUS_KEYS_H_
#define CAPSTAN_CLI_STATUS_KEYS_H_

#include <termios.h>

#include "absl/time/time.h"
#include "capstan/base/shutdown.h"

namespace capstan::cli {

// While this object lives, keys of the terminal `fd` are read one by one and not echoed; Ctrl-C
// works as before. If `fd` is no terminal, or this process is not in its foreground, nothing is
// read. Thread-compatible.
class Keys {
 public:
  explicit Keys(int fd);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Waits for `timeout`, or until a shutdown is asked for or q is pressed. Returns true in the
  // latter two cases.
  bool LeaveWithin(absl::Duration timeout, const Shutdown& shutdown);

 private:
  const int fd_;
  bool changed_ = false;
  bool reads_ = false;
  termios before_{};
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KEYS_H_
