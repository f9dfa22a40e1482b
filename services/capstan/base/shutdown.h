// SIGTERM, SIGINT and SIGHUP as an event to wait for. The first signal asks the process to shut
// down cleanly. A signal that comes half a second later or after that ends it at once with 128 +
// signal, whatever it is doing. A signal that comes sooner counts as the first one: `timeout` and
// terminals signal a process and also its group. SIGHUP never ends the process at once, because a
// terminal that is closed and its shell both send it. If SIGHUP was ignored before, it stays
// ignored.
#ifndef CAPSTAN_BASE_SHUTDOWN_H_
#define CAPSTAN_BASE_SHUTDOWN_H_

#include <vector>

#include "absl/time/time.h"

namespace capstan {

// Installs the handlers; the destructor restores the former ones. There may be at most one at a
// time in a process. Thread-safe.
class Shutdown {
 public:
  Shutdown();
  // Handles only these signals, for a process whose other signals somebody else handles.
  explicit Shutdown(std::vector<int> signals);
  ~Shutdown();
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // Has the effect of a first signal; for a process that ends by itself.
  void Request();
  bool requested() const;

  // Waits until requested() is true, for at most `timeout`, and returns it. Any number of threads
  // may wait.
  bool WaitFor(absl::Duration timeout) const;

  // A descriptor that becomes readable with the request, for callers that also poll other
  // descriptors. It must never be read.
  int fd() const;

 private:
  const std::vector<int> signals_;
};

// Sets a function to be called before a signal ends the process at once; null: none. It is called
// by a signal handler, so it must be async-signal-safe.
void CallBeforeExitBySignal(void (*action)());

}  // namespace capstan

#endif  // CAPSTAN_BASE_SHUTDOWN_H_
