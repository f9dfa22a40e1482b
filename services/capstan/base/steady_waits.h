// Waits for a while that do not go by the time of day.
#ifndef CAPSTAN_BASE_STEADY_WAITS_H_
#define CAPSTAN_BASE_STEADY_WAITS_H_

namespace capstan {

// Abseil 20220623 waits "for a second" by asking the kernel to wake it at a time of day, and gRPC
// 1.51 waits through Abseil: for its timers, which end calls and try connections again, and in
// completion queues. When the time of day is set back by an hour, every wait under way takes an
// hour longer.
//
// A process that calls this has none of that: what links it replaces the C library's syscall(),
// through which Abseil waits, by one that turns an absolute time of day into the same moment of the
// monotonic clock and passes everything else on. A service calls it when it starts. Thread-safe.
void WaitBySteadyClock();

}  // namespace capstan

#endif  // CAPSTAN_BASE_STEADY_WAITS_H_
