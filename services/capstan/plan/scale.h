// The scale for which a plan is made: how many processes there are, their resources, and facts
// about the data.
#ifndef CAPSTAN_PLAN_SCALE_H_
#define CAPSTAN_PLAN_SCALE_H_

#include <cstdint>

namespace capstan {

// Immutable values.
struct Scale {
  int workers = 1;
  int shards = 1;
  // Bandwidth of each process, in each direction at the same time.
  double network_bytes_per_second = 1.25e9;
  // The rate at which one process writes to the object store, or reads from it.
  double store_bytes_per_second = 100e6;
  double cores = 2;  // The cores of each process, or of the machine if one_machine.
  // All processes share the cores of one machine, without a network between them.
  bool one_machine = false;
  uint64_t shard_memory_bytes = 0;  // Memory that a shard may take; 0: not known.
  uint64_t worker_memory_bytes = 0;
  uint64_t chief_memory_bytes = 0;
};

struct DataFacts {
  uint64_t records = 0;       // The records of an epoch; 0: not known.
  uint64_t bytes = 0;         // Stored bytes of an epoch; 0: not known.
  uint64_t tasks = 0;         // How many tasks an epoch has.
  uint64_t range_bytes = 0;   // The memory of the list of the tasks' ranges.
  uint64_t rows = 0;          // How many rows the tables have in the end; 0: not known.
  uint64_t keys_a_batch = 0;  // Different keys in a batch; 0: the job has no table.
  uint64_t record_bytes = 0;  // The memory of one parsed record in a worker.
  uint64_t task_bytes = 0;    // The memory of a task while it is read.
  // The same if keys are packed (data/formats/dictionary_keys). packed_record_bytes 0: not known.
  uint64_t packed_record_bytes = 0;
  uint64_t packed_task_bytes = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_PLAN_SCALE_H_
