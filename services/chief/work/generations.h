// Gives out the generations of leases, (term, count), each at most once.
#ifndef CAPSTAN_CHIEF_WORK_GENERATIONS_H_
#define CAPSTAN_CHIEF_WORK_GENERATIONS_H_

#include <cstdint>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Thread-compatible.
class Generations {
 public:
  explicit Generations(uint64_t term) : last_{term, 0} {}
  Generation Next() {
    ++last_.count;
    return last_;
  }

 private:
  Generation last_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_GENERATIONS_H_
