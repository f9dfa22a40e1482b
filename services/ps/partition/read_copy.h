// Reads a copy of a partition in pieces, between which requests are served.
#ifndef CAPSTAN_PS_PARTITION_READ_COPY_H_
#define CAPSTAN_PS_PARTITION_READ_COPY_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "ps/partition/partition.h"

namespace capstan::ps {

// Lets `encoder` read all of the copy that Partition::BeginCopy has begun, and passes the encoded
// bytes to `append` piece by piece; the caller takes what remains in the encoder. Calls `check`
// before each piece. Returns the error of `check` or `append` if one fails, and false if another
// content has been loaded meanwhile.
absl::StatusOr<bool> ReadCopy(Partition& partition, PartitionEncoder& encoder,
                              absl::FunctionRef<absl::Status()> check,
                              absl::FunctionRef<absl::Status(std::string)> append);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_READ_COPY_H_
