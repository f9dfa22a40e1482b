// Operations that an owner tells its backup, and the request by which it does so.
#ifndef CAPSTAN_TESTS_UNIT_PS_PARTITION_TOLD_OPERATIONS_H_
#define CAPSTAN_TESTS_UNIT_PS_PARTITION_TOLD_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/replica_stream.h"
#include "tests/unit/ps/shard/parsed.h"

namespace capstan::ps {

inline constexpr Incarnation kSource{7};
inline constexpr PartitionIndex kFirst{1};
inline constexpr PartitionIndex kSecond{2};
inline constexpr ViewEpoch kPair{1, 0};

inline v1::Operation Flush(PartitionIndex partition, ViewEpoch pair = kPair) {
  v1::Operation operation;
  operation.set_partition(static_cast<uint32_t>(Raw(partition)));
  operation.mutable_pair()->set_term(pair.term);
  operation.mutable_pair()->set_n(pair.n);
  operation.mutable_flush();
  return operation;
}

inline v1::ReplicateRequest Next(const ReplicaStream& stream, size_t max_bytes) {
  return Parsed<v1::ReplicateRequest>(stream.Next(kSource, max_bytes));
}

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_PARTITION_TOLD_OPERATIONS_H_
