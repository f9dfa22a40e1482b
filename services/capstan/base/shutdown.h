// SIGTERM, SIGINT and SIGHUP as something to wait for. The first signal asks the process to end in
// good order; a signal that comes half a second later or after that ends it at once with 128 +
// signal, whatever it is doing. A signal that comes sooner counts as the first one: `timeout` and
// terminals signal a process, and also its group. SIGHUP ends nothing at once, as a terminal that
// is closed and its shell send it one after the other; where it was ignored before it stays so.
#ifndef CAPSTAN_BASE_SHUTDOWN_H_
#define CAPSTAN_BASE_SHUTDOWN_H_

#include <vector>

#include "absl/time/time.h"

namespace capstan {

// Installs the handlers; the destructor puts the former ones back. At most one in a process at a
// time. Thread-safe.
class Shutdown {
 public:
  Shutdown();
  // Handles only these signals: a process that belongs to somebody else handles the others itself.
  explicit Shutdown(std::vector<int> signals);
  ~Shutdown();
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // Does what a first signal would do; for a process that has come to its own end.
  void Request();
  bool requested() const;

  // Returns requested(), at the latest after `timeout`. Any number of threads may wait.
  bool WaitFor(absl::Duration timeout) const;

  // A descriptor that is readable from the request on, for callers that poll other descriptors as
  // well. Never read from it.
  int fd() const;

 private:
  const std::vector<int> signals_;
};

// `action` is called before a signal ends the process at once; null: nothing is. A handler of
// signals calls it, so it may call what is async-signal-safe alone.
void CallBeforeExitBySignal(void (*action)());

}  // namespace capstan

#endif  // CAPSTAN_BASE_SHUTDOWN_H_
