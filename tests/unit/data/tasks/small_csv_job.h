// A job of a small file, for tests of what its records take.
#ifndef TESTS_UNIT_DATA_TASKS_SMALL_CSV_JOB_H_
#define TESTS_UNIT_DATA_TASKS_SMALL_CSV_JOB_H_

#include <cstdint>
#include <fstream>
#include <string>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Writes the file. Batches of four records: all have one key in the first column, and two in the
// second.
inline v1::JobSpec SmallCsvJob(int records, const std::string& path) {
  std::ofstream file(path);
  for (int i = 0; i < records; ++i) file << "1,same," << i / 2 << "\n";
  v1::JobSpec job;
  job.mutable_train()->set_batch_size(4);
  job.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  job.mutable_data()->add_train(path);
  for (const uint32_t column : {1, 2}) job.mutable_data()->add_categorical()->set_column(column);
  job.add_tables()->set_name("rows");
  return job;
}

}  // namespace capstan

#endif  // TESTS_UNIT_DATA_TASKS_SMALL_CSV_JOB_H_
