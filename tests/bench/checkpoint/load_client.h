// A client process that pulls and pushes at half of what the shard can take, on a core of its own.
#ifndef CAPSTAN_TESTS_BENCH_CHECKPOINT_LOAD_CLIENT_H_
#define CAPSTAN_TESTS_BENCH_CHECKPOINT_LOAD_CLIENT_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan::bench {

enum class Phase : int { kWait, kFull, kIdle, kSave, kDelta, kEnd };
inline constexpr int kPhases = 6;

// Shared by both processes.
struct LoadRecord {
  static constexpr size_t kMaxPulls = 200'000;  // A phase.

  struct OfPhase {
    std::atomic<size_t> pulls;
    std::array<float, kMaxPulls> pull_seconds;  // From the time it was due.
    double seconds;
  };
  std::atomic<int> phase;
  std::array<OfPhase, kPhases> phases;
};

struct LoadOptions {
  int port = 0;
  uint64_t rows = 0;      // Of which the batches are drawn.
  uint64_t hot_rows = 0;  // Of which pushes are drawn in kDelta: so many are touched.
  size_t batch = 0;
};

// Memory that both sides of a fork share.
LoadRecord* NewLoadRecord();

// Forks the client; it does what `record->phase` says until kEnd.
pid_t StartClient(const v1::JobSpec& job, const LoadOptions& options, LoadRecord* record);

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_CHECKPOINT_LOAD_CLIENT_H_
