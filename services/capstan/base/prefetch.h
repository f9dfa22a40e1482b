// Asking for memory ahead of its use.
#ifndef CAPSTAN_BASE_PREFETCH_H_
#define CAPSTAN_BASE_PREFETCH_H_

#include <cstddef>

namespace capstan {

inline constexpr size_t kCacheLine = 64;

// Asks for the cache lines of [begin, begin + bytes), into the second-level cache: the first has
// room for fewer requests at a time, and a core that has used it up waits.
//
// The empty statement says that this function has an effect. Without one GCC 12 takes it, its loop
// and its calls for dead code, and no prefetch is left.
inline void Prefetch(const void* begin, size_t bytes) {
  const char* const first = static_cast<const char*>(begin);
  for (size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(first + at, 0, 2);
  __builtin_prefetch(first + bytes - 1, 0, 2);
  asm volatile("");
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_PREFETCH_H_
