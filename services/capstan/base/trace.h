// Writes the events of the protocols, named as the actions of the models in docs/spec, for
// docs/spec/replay: which view was published, which push a partition has accepted, what its backup
// has carried out, which caller was answered, the progress of a move, the fate of a synchronous
// round, and that of a task (its leases, its reports, and the checkpoints that hold it).
//
//   if (trace::On()) trace::Write("pushed", {{"partition", 3}, {"push", name}});
//
//   {"at":8123456789,"by":"ps-1","event":"pushed","partition":3,"push":"41:7"}
//
// An event is written where the state changes, under the lock that guards the state, so that the
// lines of one state machine are in the order in which things happened. (Only "follows", "frozen"
// and "took" are written right after the change.) `at` is in nanoseconds since the computer was
// started, the same clock for all of its processes. Meant for tests and for finding faults: each
// push costs a line for each partition. While the trace is off, an event costs one read of a
// variable. Thread-safe.
#ifndef CAPSTAN_BASE_TRACE_H_
#define CAPSTAN_BASE_TRACE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/base/log.h"

namespace capstan::trace {

// Turns the trace on: from now on events are appended to this file. Each line is written even if
// the process is killed right after. `by`: the name of the process, as in its log. Must be called
// while there is only one thread. UNAVAILABLE: the file cannot be opened.
absl::Status Open(const std::string& path, std::string_view by);

// Returns true if the trace is on. Should be called before computing fields that are expensive.
bool On();

// Writes an event with its fields, which have the same form as those of the log. Does nothing
// unless the trace is on.
void Write(std::string_view event, log::Fields fields);

}  // namespace capstan::trace

#endif  // CAPSTAN_BASE_TRACE_H_
