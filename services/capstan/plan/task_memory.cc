#include "capstan/plan/task_memory.h"

#include <algorithm>

#include "capstan/base/divide.h"
#include "capstan/data/tasks/task_size.h"

namespace capstan {

DataFacts WithTaskMemory(const v1::JobSpec& job, DataFacts facts) {
  const v1::DataSpec& data = job.data();
  // A feature with many values is assumed to have one value.
  const uint64_t fields =
      std::max<uint64_t>(data.fields(), static_cast<uint64_t>(data.features_size()));
  facts.record_bytes =
      sizeof(float) * (1 + data.dense_width()) + (sizeof(uint64_t) + sizeof(uint32_t)) * fields;
  // Images stay encoded until their batch is cut.
  if (data.image().height() > 0 || facts.records == 0) {
    facts.task_bytes = TaskBytes(data, facts.bytes > 0 ? facts.bytes : uint64_t{1} << 40);
    facts.packed_task_bytes = facts.task_bytes;
    return facts;
  }
  const uint64_t records = DivideUp(facts.records, std::max<uint64_t>(facts.tasks, 1));
  facts.task_bytes = records * facts.record_bytes;
  // Unless the data were sampled, it is not known how many keys are repeated.
  const bool known = facts.packed_record_bytes > 0;
  facts.packed_task_bytes = records * (known ? facts.packed_record_bytes : facts.record_bytes);
  return facts;
}

}  // namespace capstan
