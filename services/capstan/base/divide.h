// Division of whole numbers.
#ifndef CAPSTAN_BASE_DIVIDE_H_
#define CAPSTAN_BASE_DIVIDE_H_

#include <cstdint>

namespace capstan {

// Returns value / by, rounded up; never overflows. REQUIRES: by > 0.
constexpr uint64_t DivideUp(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_DIVIDE_H_
