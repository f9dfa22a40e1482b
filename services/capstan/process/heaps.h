// Configures glibc's allocator for a process with a memory limit.
#ifndef CAPSTAN_PROCESS_HEAPS_H_
#define CAPSTAN_PROCESS_HEAPS_H_

#include <cstddef>
#include <cstdint>

namespace capstan {

// Returns how many heaps the threads of a process that may use `memory_bytes` should share: one per
// 256 MiB, at least two, and at most the eight per core that are glibc's default. Memory that is
// freed in one heap cannot be used by threads of another heap, so each heap keeps megabytes of past
// messages. Measured on two cores with ten shards of 384 MiB, a model of 102 MB and a hundred
// lanes: with sixteen heaps the largest shard took 402 MiB, with two 336.
int HeapsFor(uint64_t memory_bytes);

// Limits the number of heaps of this process. Must be called before threads are started, as
// existing threads keep their heaps.
void LimitHeaps(int heaps);

// KeptBytesFor returns how much free memory a heap should keep at its end instead of returning it
// to the system: a sixteenth of what the process may use, from 1 MiB to 64 MiB. KeepFreeBytes sets
// this. By default glibc would return the memory of every large message, and the kernel would clear
// it again, which costs more than copying the message.
size_t KeptBytesFor(uint64_t memory_bytes);
void KeepFreeBytes(size_t bytes);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_HEAPS_H_
