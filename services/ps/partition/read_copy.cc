#include "ps/partition/read_copy.h"

#include <thread>

#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

// This many reads take some 0.1 ms; then the thread yields its core. If it did not, the scheduler
// would let it finish a time slice of some milliseconds, whatever its niceness, before it serves a
// request that has arrived meanwhile. It must not yield too often, as each time may cost it a whole
// time slice.
constexpr int kReadsATurn = 8;

}  // namespace

absl::StatusOr<bool> ReadCopy(Partition& partition, PartitionEncoder& encoder,
                              absl::FunctionRef<absl::Status()> check,
                              absl::FunctionRef<absl::Status(std::string)> append) {
  for (int reads = 1; encoder.Prepare(); ++reads) {
    CAPSTAN_RETURN_IF_ERROR(check());
    if (reads % kReadsATurn == 0) std::this_thread::yield();
    CAPSTAN_RETURN_IF_ERROR(append(encoder.TakePiece()));
    if (!partition.ReadCopy([&](PartitionStore& store) { encoder.Read(store); })) return false;
  }
  return true;
}

}  // namespace capstan::ps
