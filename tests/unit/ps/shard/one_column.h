// The table of the tests of a partition: one column, from 0, which SGD trains with rate 1.
#ifndef TESTS_UNIT_PS_SHARD_ONE_COLUMN_H_
#define TESTS_UNIT_PS_SHARD_ONE_COLUMN_H_

#include "capstan/v1/job.pb.h"

namespace capstan::ps {

inline void AddOneColumn(v1::JobSpec& job) {
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_name("features");
  table.set_dim(1);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  table.mutable_optimizer()->set_learning_rate(1);
  table.add_segments()->set_width(1);
  table.mutable_segments(0)->set_learning_rate_scale(1);
}

}  // namespace capstan::ps

#endif  // TESTS_UNIT_PS_SHARD_ONE_COLUMN_H_
