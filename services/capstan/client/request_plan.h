// The parameters that one batch needs, split by partition once, and by shard whenever the view
// changes. The same plan is used for the batch's pull, its push and their retries.
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

// Keys of one table. The rows of a batch are a matrix with one row per key, in this order.
struct TableKeys {
  size_t table = 0;  // Index in ParameterMap::tables().
  absl::Span<const uint64_t> keys;
};

// Thread-compatible. A plan is reused for further batches, to keep its memory.
class RequestPlan {
 public:
  // The rows of one table that are in one partition: keys()[begin, end).
  struct Segment {
    uint32_t partition = 0;
    uint32_t table = 0;  // Index in ParameterMap::tables().
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // Which dense blocks a request carries. Blocks of frozen tensors are pulled only rarely, and
  // never pushed.
  enum class Blocks { kChanging, kAll };

  // The partitions of one shard that are sent in one call, with about kChunkBytes of values. They
  // are whole, except that a single partition may be split into `pieces`; then the chunk is its
  // piece number `piece`.
  struct Chunk {
    std::vector<uint32_t> partitions;
    uint32_t piece = 0;
    uint32_t pieces = 1;
    Blocks blocks = Blocks::kChanging;
  };
  static constexpr size_t kChunkBytes = size_t{1} << 20;

  // `map` must outlive the plan.
  explicit RequestPlan(const ParameterMap& map) : map_(&map) {}

  // Plans for the keys of `tables` (each table at most once) and, if `dense`, for all dense blocks.
  // Copies the keys. Partitions are not routed to shards yet. REQUIRES: fewer than 2^32 keys.
  void Build(absl::Span<const TableKeys> tables, bool dense);

  // Plans for the blocks of one tensor only. REQUIRES: the job has the tensor.
  void BuildTensor(uint32_t tensor);

  // Assigns the partitions to their owners. May be called again; requests that were begun are not
  // affected. REQUIRES: `owners` has partition_count() elements.
  void Route(absl::Span<const uint32_t> owners);

  // The shards that own some of the batch's parameters, in ascending order.
  const std::vector<ShardIndex>& shards() const { return shards_; }

  // Returns the chunks of this shard's part, which consist of whole partitions; empty if the shard
  // owns nothing of the batch.
  std::vector<Chunk> ChunksOf(ShardIndex shard, Blocks blocks = Blocks::kChanging) const;

  // The same for a pull, which may be split: a partition whose keys and values would take more than
  // `most_bytes` is split by its keys and by its blocks. `value_bytes`: the size of a value on the
  // wire.
  std::vector<Chunk> CutChunksOf(ShardIndex shard, Blocks blocks, size_t value_bytes,
                                 size_t most_bytes) const;

  // Returns OK if the message of `chunk` takes at most `most_bytes`; only a chunk of a single
  // partition can be too large. INVALID_ARGUMENT, with the calculation: it is too large, and
  // retries would not help.
  absl::Status CheckSize(const Chunk& chunk, size_t value_bytes, size_t most_bytes) const;

  const ParameterMap& map() const { return *map_; }
  bool dense() const { return dense_; }

  // Returns the first partition that has rows of the batch; nullopt if the batch has no keys.
  std::optional<uint32_t> first_with_rows() const {
    if (segments_.empty()) return std::nullopt;
    return segments_.front().partition;
  }

  // All keys in wire order, and for each the index of its row in its table's matrix.
  absl::Span<const uint64_t> keys() const { return keys_; }
  absl::Span<const uint32_t> rows() const { return rows_; }
  absl::Span<const Segment> SegmentsOf(uint32_t partition) const;
  absl::Span<const BlockId> BlocksOf(uint32_t partition, Blocks blocks = Blocks::kAll) const;

  // Calls take(segment) for the keys of the partition that are in the chunk, table by table.
  template <typename Take>
  void ForSegments(const Chunk& chunk, uint32_t partition, const Take& take) const {
    const auto [begin, end] = KeysOf(chunk, partition);
    for (Segment segment : SegmentsOf(partition)) {
      segment.begin = std::max(segment.begin, begin);
      segment.end = std::min(segment.end, end);
      if (segment.begin < segment.end) take(segment);
    }
  }
  // The blocks of the partition that are in the chunk.
  absl::Span<const BlockId> BlocksOf(const Chunk& chunk, uint32_t partition) const;

 private:
  // The range in keys() of those keys of the partition that are in the chunk.
  std::pair<uint32_t, uint32_t> KeysOf(const Chunk& chunk, uint32_t partition) const;
  // Returns the largest size of a message that contains only this partition.
  size_t MessageBytes(uint32_t partition, Blocks blocks, size_t value_bytes) const;
  void BuildAll(absl::Span<const TableKeys> tables);
  void CountKeys(absl::Span<const TableKeys> tables);
  void MakeSegments();
  void PlaceKeys(absl::Span<const TableKeys> tables);
  size_t Values(uint32_t partition, Blocks blocks) const;

  const ParameterMap* map_;
  bool dense_ = false;
  std::optional<uint32_t> tensor_;  // If set, the plan has only the blocks of this tensor.
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> rows_;
  std::vector<Segment> segments_;        // By partition, then table.
  std::vector<uint32_t> segment_begin_;  // By partition, with one more at the end.
  std::vector<uint32_t>
      used_;  // Partitions with some of the batch's parameters, in ascending order.

  std::vector<uint32_t> routed_;  // The used partitions, by shard.
  std::vector<ShardIndex> shards_;
  // Where each shard of shards_ begins in routed_, with one more at the end.
  std::vector<uint32_t> shard_begin_;

  // Scratch of Build.
  std::vector<uint32_t> partition_of_;  // By key, in the given order.
  std::vector<uint32_t> next_;          // By partition and table: the place of its next key.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_REQUEST_PLAN_H_
