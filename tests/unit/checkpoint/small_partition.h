// A partition with a little of everything that a checkpoint holds.
#ifndef CAPSTAN_TESTS_UNIT_CHECKPOINT_SMALL_PARTITION_H_
#define CAPSTAN_TESTS_UNIT_CHECKPOINT_SMALL_PARTITION_H_

#include <memory>
#include <string>

#include "capstan/checkpoint/partition_file.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// Two partitions; a table (Adam, admission after 2 pushes) and one without rows; two tensors.
v1::JobSpec SmallJob();

DenseLayout LayoutOf(const v1::JobSpec& job);

// Partition 1 after some pushes: `rows` rows and a candidate.
std::unique_ptr<PartitionStore> SmallPartition(uint64_t rows = 3);

// With timeline 5 and a machine state of version 2.
std::string EncodedSmallPartition(uint64_t rows = 3);

// What has changed since a checkpoint "100-a": one row, the candidate.
std::string EncodedSmallDelta();

// Puts an encoded partition as an object of its own; its entry in the manifest.
v1::SavedFile PutPartial(ObjectStore& folder, PartitionIndex partition, std::string encoded,
                         uint64_t rows = 0);

// Of a checkpoint "200-b" whose files are named, but not there.
v1::Manifest SmallManifest();
// The same with both files in one object.
v1::Manifest SmallManifestOfOneObject();

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_CHECKPOINT_SMALL_PARTITION_H_
