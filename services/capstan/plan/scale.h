// What a plan is made for: how many processes there are and what they have, and what is known of
// the data.
#ifndef CAPSTAN_PLAN_SCALE_H_
#define CAPSTAN_PLAN_SCALE_H_

#include <cstdint>

namespace capstan {

// Immutable values.
struct Scale {
  int workers = 1;
  int shards = 1;
  double network_bytes_per_second = 1.25e9;  // What each process has, each way at the same time.
  double store_bytes_per_second = 100e6;  // That one process writes to the object store, or reads.
  double cores = 2;          // The cores of each process, or of the machine, where all are on it.
  bool one_machine = false;  // All processes share its cores, and no network is between.
  uint64_t shard_memory_bytes = 0;  // That a shard may take; 0: not said.
  uint64_t worker_memory_bytes = 0;
  uint64_t chief_memory_bytes = 0;
};

struct DataFacts {
  uint64_t records = 0;       // The records of an epoch; 0: not known.
  uint64_t bytes = 0;         // As they are stored; 0: not known.
  uint64_t tasks = 0;         // The tasks of an epoch.
  uint64_t range_bytes = 0;   // That the list of their ranges takes.
  uint64_t rows = 0;          // That the tables hold in the end; 0: not known.
  uint64_t keys_a_batch = 0;  // Different ones; 0: the job has no table.
  uint64_t record_bytes = 0;  // What one parsed record takes of a worker's memory,
  uint64_t task_bytes = 0;    // and what a task that is being read.
};

}  // namespace capstan

#endif  // CAPSTAN_PLAN_SCALE_H_
