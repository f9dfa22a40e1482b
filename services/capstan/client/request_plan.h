// One batch's parameters, split by partition once and by shard as often as the view changes. The
// same plan serves the batch's pull, its push and their retries.
#ifndef CAPSTAN_CLIENT_REQUEST_PLAN_H_
#define CAPSTAN_CLIENT_REQUEST_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/client/parameter_map.h"

namespace capstan {

// Keys of one table; the rows of a batch are a matrix with one row a key, in this order.
struct TableKeys {
  size_t table = 0;  // Place in ParameterMap::tables().
  absl::Span<const uint64_t> keys;
};

// Thread-compatible. Kept between batches for its memory.
class RequestPlan {
 public:
  // The rows of one table that are in one partition: keys()[begin, end).
  struct Segment {
    uint32_t partition = 0;
    uint32_t table = 0;  // Place in ParameterMap::tables().
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // Whole partitions of one shard, about kChunkBytes of values: one call.
  using Chunk = std::vector<uint32_t>;
  static constexpr size_t kChunkBytes = size_t{1} << 20;

  // `map` must outlive the plan.
  explicit RequestPlan(const ParameterMap& map) : map_(&map) {}

  // Plans for these keys (each table at most once) and, if `dense`, for all dense blocks. The keys
  // are copied. Nothing is routed yet. REQUIRES: fewer than 2^32 keys.
  void Build(absl::Span<const TableKeys> tables, bool dense);

  // Plans for the blocks of one tensor alone. REQUIRES: the job has the tensor.
  void BuildTensor(uint32_t tensor);

  // Assigns the partitions to shards. Requests that have begun are not affected. May be called
  // again. REQUIRES: owners has partition_count() elements.
  void Route(absl::Span<const uint32_t> owners);

  // Shards that hold something of the batch, ascending.
  const std::vector<ShardIndex>& shards() const { return shards_; }

  // Calls that carry this shard's part; none for a shard that holds nothing.
  std::vector<Chunk> ChunksOf(ShardIndex shard) const;

  // OK if a message can hold these calls, which only the share of a single partition can be too
  // large for. INVALID_ARGUMENT with the arithmetic: no repetition would help. `value_bytes`: that
  // a value takes on the wire.
  absl::Status CheckMessage(const Chunk& chunk, size_t value_bytes) const;

  const ParameterMap& map() const { return *map_; }
  bool dense() const { return dense_; }

  // All keys in the order of the wire, and the row of each in its table's matrix.
  absl::Span<const uint64_t> keys() const { return keys_; }
  absl::Span<const uint32_t> rows() const { return rows_; }
  absl::Span<const Segment> SegmentsOf(uint32_t partition) const;
  absl::Span<const BlockId> BlocksOf(uint32_t partition) const;

 private:
  void BuildAll(absl::Span<const TableKeys> tables);
  void CountKeys(absl::Span<const TableKeys> tables);
  void MakeSegments();
  void PlaceKeys(absl::Span<const TableKeys> tables);
  size_t Values(uint32_t partition) const;
  size_t ValueBytes(uint32_t partition) const { return Values(partition) * sizeof(float); }

  const ParameterMap* map_;
  bool dense_ = false;
  std::optional<uint32_t> tensor_;  // Of which alone it has blocks.
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> rows_;
  std::vector<Segment> segments_;        // By partition, then table.
  std::vector<uint32_t> segment_begin_;  // By partition, one more.
  std::vector<uint32_t> used_;           // Partitions that hold something, ascending.

  std::vector<uint32_t> routed_;  // The used partitions, by shard.
  std::vector<ShardIndex> shards_;
  std::vector<uint32_t> shard_begin_;  // In routed_, by place in shards_, one more.

  // Scratch of Build.
  std::vector<uint32_t> partition_of_;  // By key, in the order given.
  std::vector<uint32_t> next_;          // By partition and table: where its next key goes.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_REQUEST_PLAN_H_
