// Converts generations of leases from and to messages.
#ifndef CAPSTAN_CONSISTENCY_GENERATION_H_
#define CAPSTAN_CONSISTENCY_GENERATION_H_

#include "capstan/base/ids.h"
#include "capstan/v1/common.pb.h"

namespace capstan {

// Omits the seal, which only the holder of the lease needs.
[[nodiscard]] inline Generation GenerationFromProto(const v1::Generation& proto) {
  return {proto.term(), proto.count()};
}

// For the holder of the lease, who has to present the seal.
[[nodiscard]] inline Generation SealedGenerationFromProto(const v1::Generation& proto) {
  return {proto.term(), proto.count(), proto.seal()};
}

inline void ToProto(const Generation& generation, v1::Generation& proto) {
  proto.set_term(generation.term);
  proto.set_count(generation.count);
  proto.set_seal(generation.seal);
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_GENERATION_H_
