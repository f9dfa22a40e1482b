// The events of the protocols, in the words of the models in docs/spec, for docs/spec/replay: which
// view was published, which push a partition has taken in, what its backup has carried out, who was
// answered, how far a copy is that is made for a move, what becomes of a synchronous round, and of
// a task: its leases, what is reported of it, and the checkpoints that hold it.
//
//   if (trace::On()) trace::Write("pushed", {{"partition", 3}, {"push", name}});
//
//   {"at":8123456789,"by":"ps-1","event":"pushed","partition":3,"push":"41:7"}
//
// An event is written where the state changes, under the lock that guards it, so that the order of
// the lines of one machine is the order in which things happened. ("follows", "frozen" and "took"
// are written right after it.) `at` is in nanoseconds since the machine was started, the same for
// all of its processes. For tests and for whoever looks for a fault: a push costs a line a
// partition. Off, an event costs the reading of one variable. Thread-safe.
#ifndef CAPSTAN_BASE_TRACE_H_
#define CAPSTAN_BASE_TRACE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/base/log.h"

namespace capstan::trace {

// Appends to this file from now on; each line is there even if the process is killed right after.
// `by`: the process, as in its log. Called with one thread. UNAVAILABLE: it cannot be opened.
absl::Status Open(const std::string& path, std::string_view by);

// Whether a trace is written: for what is costly to put together.
bool On();

// Does nothing unless it is on. The fields are those of the event; the log's have the same form.
void Write(std::string_view event, log::Fields fields);

}  // namespace capstan::trace

#endif  // CAPSTAN_BASE_TRACE_H_
