// How glibc's allocator is set for a process that is to keep to a limit of memory.
#ifndef CAPSTAN_PROCESS_HEAPS_H_
#define CAPSTAN_PROCESS_HEAPS_H_

#include <cstddef>
#include <cstdint>

namespace capstan {

// So many heaps may the threads of a process share that may take `memory_bytes`: one for every
// 256 MiB, at least two, and no more than the eight a core that glibc would make. What one thread
// frees in its heap no thread of another heap can use, so each heap keeps megabytes of messages
// that have come and gone. Measured on two cores with ten shards of 384 MiB, a model of 102 MB and
// a hundred lanes: with sixteen heaps the largest shard took 402 MiB, with two 336.
int HeapsFor(uint64_t memory_bytes);

// Bounds the heaps of this process. Call before the process starts threads: those that are there
// keep the heaps that they have.
void LimitHeaps(int heaps);

// A heap keeps so much free memory at its end, and gives back to the system what is above it:
// a sixteenth of what the process may take, from 1 MiB to 64 MiB. By default glibc would give back,
// and the kernel clear anew, the memory of every large message, which costs more than the copy of
// the message.
size_t KeptBytesFor(uint64_t memory_bytes);
void KeepFreeBytes(size_t bytes);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_HEAPS_H_
