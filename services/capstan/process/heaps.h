// How glibc's allocator is set for a process that is to keep to a limit of memory.
#ifndef CAPSTAN_PROCESS_HEAPS_H_
#define CAPSTAN_PROCESS_HEAPS_H_

#include <cstddef>
#include <cstdint>

namespace capstan {

struct HeapLimits {
  // Threads share so many heaps. What one thread frees in its heap no thread of another heap can
  // use, so each heap keeps some megabytes of messages that have come and gone.
  int heaps = 1;
  // A heap keeps so much free memory at its end, and gives back to the system what is above it. By
  // default it would give back, and the kernel clear anew, the memory of every large message, which
  // costs more than the copy of the message.
  size_t kept_bytes = 0;
};

// For a process that may take `memory_bytes`: a heap for every 128 MiB, at least two, and no more
// than the eight a core that glibc would make; each keeps a sixteenth of the memory, from 1 MiB to
// 64 MiB. Measured with ten shards of 384 MiB, a model of 102 MB, and a hundred lanes on two cores:
// with sixteen heaps the largest shard took 402 MiB, with two 336.
HeapLimits HeapLimitsFor(uint64_t memory_bytes);

// Sets them for this process. Call before the process starts threads: those that are there keep the
// heaps that they have.
void LimitHeaps(const HeapLimits& limits);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_HEAPS_H_
