// How many files and connections this process has open, and the limit of that (RLIMIT_NOFILE).
#ifndef CAPSTAN_BASE_OPEN_FILES_H_
#define CAPSTAN_BASE_OPEN_FILES_H_

#include <cstdint>

namespace capstan {

// Raises the limit as far as the system allows, and returns the new one. Must be called when the
// process starts.
int64_t RaiseOpenFilesLimit();

// Returns the present limit. Thread-safe.
int64_t OpenFilesLimit();

// Returns a lower bound of how many files and connections are open: the system gives out the lowest
// free descriptor, so all below that one are in use. Thread-safe.
int64_t OpenFiles();

// Returns how many descriptors may be in use before connections are refused, for a `limit` of open
// files. The remaining ones are reserved for files and for calls to other processes.
int64_t RoomForConnections(int64_t limit);

// Returns true if less than a tenth of `room` is free.
bool IsNearlyFull(int64_t open, int64_t room);

// Returns approximately how many files and connections a server process has open when it has this
// many connections.
int64_t OpenFilesWith(int64_t connections);

// Returns a limit for which `open` files and connections are not nearly full.
int64_t EnoughOpenFiles(int64_t open);

}  // namespace capstan

#endif  // CAPSTAN_BASE_OPEN_FILES_H_
