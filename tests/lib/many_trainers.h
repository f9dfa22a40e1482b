// Makes the trainers of a large job, as a view names them.
#ifndef CAPSTAN_TESTS_LIB_MANY_TRAINERS_H_
#define CAPSTAN_TESTS_LIB_MANY_TRAINERS_H_

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

inline void AddTrainers(uint32_t count, v1::View& view) {
  for (uint32_t i = 0; i < count; ++i) {
    v1::TrainerInfo& info = *view.add_trainers();
    info.set_trainer((uint64_t{1} << 32) + i);
    info.set_worker(absl::StrCat("job-worker-", i));
    info.set_start_clock(100'000);
  }
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_MANY_TRAINERS_H_
