// CHECK, for bugs: prints the location and aborts. Must not be used for data from the wire, a file
// or a bucket; wrong data is answered with a Status.
#ifndef CAPSTAN_BASE_CHECK_H_
#define CAPSTAN_BASE_CHECK_H_

#include "absl/base/internal/raw_logging.h"

#define CAPSTAN_CHECK(condition) ABSL_RAW_CHECK(condition, #condition)

#endif  // CAPSTAN_BASE_CHECK_H_
