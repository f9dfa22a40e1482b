#include "ps/partition/read_copy.h"

#include <thread>

#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

// So many reads take some 0.1 ms; then the thread offers its core. If it did not, the scheduler
// would let it finish a turn of some milliseconds, whatever its niceness, before a request that has
// come meanwhile is served. It must not do so too often, as each time may cost it a whole turn.
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
