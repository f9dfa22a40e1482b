// Prefetches memory into the CPU's caches.
#ifndef CAPSTAN_BASE_PREFETCH_H_
#define CAPSTAN_BASE_PREFETCH_H_

#include <cstddef>

namespace capstan {

inline constexpr size_t kCacheLine = 64;

// Prefetches the cache lines of [begin, begin + bytes) into the second-level cache. The first-level
// cache accepts fewer outstanding requests, and a core that has used these up stalls.
//
// The empty asm statement marks this function as having an effect. Without it GCC 12 removes the
// function and its calls as dead code.
inline void Prefetch(const void* begin, size_t bytes) {
  const char* const first = static_cast<const char*>(begin);
  for (size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(first + at, 0, 2);
  __builtin_prefetch(first + bytes - 1, 0, 2);
  asm volatile("");
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_PREFETCH_H_
