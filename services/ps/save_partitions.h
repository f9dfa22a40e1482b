// A shard's share of a checkpoint.
#ifndef CAPSTAN_PS_SAVE_PARTITIONS_H_
#define CAPSTAN_PS_SAVE_PARTITIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard.h"

namespace capstan::ps {

// Writes a file for each partition that the shard owns to the folder `uri`, one after the other:
// each is copied under its lock and written outside. Queues must have been flushed. Returns their
// entries for the manifest. Errors are those of the object store.
absl::StatusOr<v1::SavePartitionsReply> SavePartitions(Shard& shard, const std::string& uri);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SAVE_PARTITIONS_H_
