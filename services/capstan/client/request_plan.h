// One batch's parameters, split by partition once and by shard as often as the view changes. The
// same plan serves the batch's pull, its push and their retries.
#ifndef CAPSTAN_CLIENT_REQUEST_PLAN_H_
#define CAPSTAN_CLIENT_REQUEST_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
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

  // What requests carry of the dense blocks. Those of frozen tensors are pulled now and then, and
  // never pushed.
  enum class Blocks { kChanging, kAll };

  // Partitions of one shard, about kChunkBytes of values: one call. They are whole; but a single
  // partition may be cut into pieces, of which this is one.
  struct Chunk {
    std::vector<uint32_t> partitions;
    uint32_t piece = 0;
    uint32_t pieces = 1;
    Blocks blocks = Blocks::kChanging;
  };
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

  // Calls that carry this shard's part, of whole partitions; none for a shard that holds nothing of
  // it.
  std::vector<Chunk> ChunksOf(ShardIndex shard, Blocks blocks = Blocks::kChanging) const;

  // The same calls; a partition whose keys and values would take more than `most_bytes` is cut, as
  // a pull may be: by its keys and by its blocks. `value_bytes`: that a value takes on the wire.
  std::vector<Chunk> CutChunksOf(ShardIndex shard, Blocks blocks, size_t value_bytes,
                                 size_t most_bytes) const;

  // OK if each of these calls takes at most `most_bytes`, for which only the share of a single
  // partition can be too large. INVALID_ARGUMENT with the arithmetic: no repetition would help.
  absl::Status CheckSize(const Chunk& chunk, size_t value_bytes, size_t most_bytes) const;

  const ParameterMap& map() const { return *map_; }
  bool dense() const { return dense_; }

  // All keys in the order of the wire, and the row of each in its table's matrix.
  absl::Span<const uint64_t> keys() const { return keys_; }
  absl::Span<const uint32_t> rows() const { return rows_; }
  absl::Span<const Segment> SegmentsOf(uint32_t partition) const;
  absl::Span<const BlockId> BlocksOf(uint32_t partition, Blocks blocks = Blocks::kAll) const;

  // Calls `take(segment)` for what the chunk holds of the partition's keys, table by table.
  template <typename Take>
  void ForSegments(const Chunk& chunk, uint32_t partition, const Take& take) const {
    const auto [begin, end] = KeysOf(chunk, partition);
    for (Segment segment : SegmentsOf(partition)) {
      segment.begin = std::max(segment.begin, begin);
      segment.end = std::min(segment.end, end);
      if (segment.begin < segment.end) take(segment);
    }
  }
  // What the chunk holds of the partition's blocks.
  absl::Span<const BlockId> BlocksOf(const Chunk& chunk, uint32_t partition) const;

 private:
  // What the chunk holds of the partition's keys, which are next to each other in keys().
  std::pair<uint32_t, uint32_t> KeysOf(const Chunk& chunk, uint32_t partition) const;
  // The most that a message takes which holds the partition alone.
  size_t MessageBytes(uint32_t partition, Blocks blocks, size_t value_bytes) const;
  void BuildAll(absl::Span<const TableKeys> tables);
  void CountKeys(absl::Span<const TableKeys> tables);
  void MakeSegments();
  void PlaceKeys(absl::Span<const TableKeys> tables);
  size_t Values(uint32_t partition, Blocks blocks) const;

  const ParameterMap* map_;
  bool dense_ = false;
  std::optional<uint32_t> tensor_;  // The only tensor of which it has blocks.
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
