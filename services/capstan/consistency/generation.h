// Generations of leases, as messages name them.
#ifndef CAPSTAN_CONSISTENCY_GENERATION_H_
#define CAPSTAN_CONSISTENCY_GENERATION_H_

#include "capstan/base/ids.h"
#include "capstan/v1/common.pb.h"

namespace capstan {

[[nodiscard]] inline Generation GenerationFromProto(const v1::Generation& proto) {
  return {proto.term(), proto.count()};
}

inline void ToProto(const Generation& generation, v1::Generation& proto) {
  proto.set_term(generation.term);
  proto.set_count(generation.count);
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_GENERATION_H_
