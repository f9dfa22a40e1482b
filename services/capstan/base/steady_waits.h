// Makes waits for a duration independent of changes of the time of day.
#ifndef CAPSTAN_BASE_STEADY_WAITS_H_
#define CAPSTAN_BASE_STEADY_WAITS_H_

namespace capstan {

// Abseil 20220623 waits "for a second" by asking the kernel to wake it at a time of day. gRPC 1.51
// waits through Abseil: for its timers, which end calls and reconnect, and in completion queues.
// When the time of day is set back by an hour, every wait under way takes an hour longer.
//
// This function prevents that. A program that links it has its own syscall() in place of the C
// library's, through which Abseil waits: it converts an absolute time of day to the same moment of
// the monotonic clock, and passes everything else on. A service calls this when it starts.
// Thread-safe.
void WaitBySteadyClock();

}  // namespace capstan

#endif  // CAPSTAN_BASE_STEADY_WAITS_H_
