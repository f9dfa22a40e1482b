#include "ps/shard/read_copy.h"

#include <thread>

#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

// Some 0.1 ms. A scheduler lets a thread of any niceness finish a turn of some milliseconds before
// a request is served that has come meanwhile, unless the thread offers the core by itself; and it
// may take a whole turn from one that does, so not too often.
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
