// Initial values of parameters: pure functions of a seed and a place, so that a row or a tensor is
// bit-equal wherever and whenever it is created.
#ifndef CAPSTAN_STORE_INITIALIZER_H_
#define CAPSTAN_STORE_INITIALIZER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The place of an initial value: element `index` of `stream`, which is a row's key or the hash of a
// tensor's name.
struct InitialPlace {
  uint64_t seed = 0;
  uint64_t stream = 0;
  uint64_t index = 0;
};

// INVALID_ARGUMENT: the kind is unknown, or the scale is not finite.
absl::Status CheckInitializer(const v1::Initializer& initializer);

// Writes `count` float32s, for `place` and the indexes after it, to `values`, which may have any
// alignment. REQUIRES: CheckInitializer is OK.
void FillInitial(const v1::Initializer& initializer, InitialPlace place, void* values,
                 size_t count);

}  // namespace capstan

#endif  // CAPSTAN_STORE_INITIALIZER_H_
