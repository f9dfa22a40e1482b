// How many files and connections this process has open, and how many it may have (RLIMIT_NOFILE).
#ifndef CAPSTAN_BASE_OPEN_FILES_H_
#define CAPSTAN_BASE_OPEN_FILES_H_

#include <cstdint>

namespace capstan {

// Raises the limit as far as the system allows this process, and returns the new one. To be called
// when the process starts.
int64_t RaiseOpenFilesLimit();

// The present limit. Thread-safe.
int64_t OpenFilesLimit();

// Returns how many files and connections are open at the least: the system gives out the lowest
// free descriptor, so all below that one are taken. Thread-safe.
int64_t OpenFiles();

// Returns how many descriptors may be taken before connections are turned away, where `limit` may
// be open. The others are kept for files and for calls to other processes.
int64_t RoomForConnections(int64_t limit);

// Returns true if less than a tenth of `room` is free.
bool IsNearlyFull(int64_t open, int64_t room);

// Returns how many files and connections a process that serves has open, about, where it has so
// many connections.
int64_t OpenFilesWith(int64_t connections);

// Returns a limit with which `open` files and connections do not make the room nearly full.
int64_t EnoughOpenFiles(int64_t open);

}  // namespace capstan

#endif  // CAPSTAN_BASE_OPEN_FILES_H_
