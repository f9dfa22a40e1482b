#include "capstan/client/request_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/reuse.h"
#include "capstan/placement/placement.h"

namespace capstan {
namespace {

// A key and the version of its row.
constexpr size_t kKeyBytes = sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kMessageFrontBytes = size_t{64} << 10;  // Head, names and lengths.

// Returns how many of `count` items belong to the pieces before this one.
uint32_t Before(uint32_t piece, uint32_t pieces, size_t count) {
  return static_cast<uint32_t>(uint64_t{count} * piece / pieces);
}

}  // namespace

void RequestPlan::Build(absl::Span<const TableKeys> tables, bool dense) {
  dense_ = dense;
  tensor_.reset();
  BuildAll(tables);
}

void RequestPlan::BuildTensor(uint32_t tensor) {
  dense_ = true;
  tensor_ = tensor;
  BuildAll({});
}

void RequestPlan::BuildAll(absl::Span<const TableKeys> tables) {
  CountKeys(tables);
  MakeSegments();
  PlaceKeys(tables);
  routed_.clear();
  shards_.clear();
  shard_begin_.assign(1, 0);
}

void RequestPlan::CountKeys(absl::Span<const TableKeys> tables) {
  const uint32_t partitions = map_->partition_count();
  const size_t table_count = map_->tables().size();
  next_.assign(partitions * table_count, 0);
  size_t count = 0;
  for (const TableKeys& keys : tables) count += keys.keys.size();
  ResizeForReuse(partition_of_, count);
  uint32_t* partition_of = partition_of_.data();
  for (const TableKeys& keys : tables) {
    const uint64_t seed = map_->tables()[keys.table].seed;
    for (uint64_t key : keys.keys) {
      const auto partition = static_cast<uint32_t>(Raw(PartitionOfKey(key, seed, partitions)));
      *partition_of++ = partition;
      ++next_[partition * table_count + keys.table];
    }
  }
}

// Creates the segments, and turns the counts in next_ into the indexes of the keys.
void RequestPlan::MakeSegments() {
  const uint32_t partitions = map_->partition_count();
  const auto table_count = static_cast<uint32_t>(map_->tables().size());
  segments_.clear();
  segment_begin_.assign(1, 0);
  used_.clear();
  uint32_t begin = 0;
  for (uint32_t partition = 0; partition < partitions; ++partition) {
    const size_t segments = segments_.size();
    for (uint32_t table = 0; table < table_count; ++table) {
      uint32_t& next = next_[partition * table_count + table];
      const uint32_t end = begin + next;
      if (next > 0) segments_.push_back({partition, table, begin, end});
      next = begin;
      begin = end;
    }
    segment_begin_.push_back(static_cast<uint32_t>(segments_.size()));
    if (segments_.size() > segments || !BlocksOf(partition).empty()) used_.push_back(partition);
  }
}

void RequestPlan::PlaceKeys(absl::Span<const TableKeys> tables) {
  const size_t table_count = map_->tables().size();
  ResizeForReuse(keys_, partition_of_.size());
  ResizeForReuse(rows_, partition_of_.size());
  const uint32_t* partition = partition_of_.data();
  for (const TableKeys& keys : tables) {
    for (size_t row = 0; row < keys.keys.size(); ++row) {
      const uint32_t place = next_[*partition++ * table_count + keys.table]++;
      keys_[place] = keys.keys[row];
      rows_[place] = static_cast<uint32_t>(row);
    }
  }
}

void RequestPlan::Route(absl::Span<const uint32_t> owners) {
  routed_ = used_;
  std::stable_sort(routed_.begin(), routed_.end(),
                   [owners](uint32_t a, uint32_t b) { return owners[a] < owners[b]; });
  shards_.clear();
  shard_begin_.clear();
  for (uint32_t i = 0; i < routed_.size(); ++i) {
    const auto shard = static_cast<ShardIndex>(owners[routed_[i]]);
    if (!shards_.empty() && shards_.back() == shard) continue;
    shards_.push_back(shard);
    shard_begin_.push_back(i);
  }
  shard_begin_.push_back(static_cast<uint32_t>(routed_.size()));
}

std::vector<RequestPlan::Chunk> RequestPlan::ChunksOf(ShardIndex shard, Blocks blocks) const {
  std::vector<Chunk> chunks;
  const auto found = std::lower_bound(shards_.begin(), shards_.end(), shard);
  if (found == shards_.end() || *found != shard) return chunks;
  const size_t place = static_cast<size_t>(found - shards_.begin());
  size_t bytes = 0;
  for (uint32_t i = shard_begin_[place]; i < shard_begin_[place + 1]; ++i) {
    if (SegmentsOf(routed_[i]).empty() && BlocksOf(routed_[i], blocks).empty()) continue;
    const size_t more = Values(routed_[i], blocks) * sizeof(float);
    if (chunks.empty() || bytes + more > kChunkBytes) {
      chunks.push_back({.blocks = blocks});
      bytes = 0;
    }
    chunks.back().partitions.push_back(routed_[i]);
    bytes += more;
  }
  return chunks;
}

std::vector<RequestPlan::Chunk> RequestPlan::CutChunksOf(ShardIndex shard, Blocks blocks,
                                                         size_t value_bytes,
                                                         size_t most_bytes) const {
  std::vector<Chunk> cut;
  for (Chunk& chunk : ChunksOf(shard, blocks)) {
    const size_t bytes = chunk.partitions.size() == 1
                             ? MessageBytes(chunk.partitions.front(), blocks, value_bytes)
                             : 0;  // About kChunkBytes.
    if (bytes <= most_bytes) {
      cut.push_back(std::move(chunk));
      continue;
    }
    // Pieces of half the allowed size, because blocks, and rows of different tables, differ in
    // length.
    const auto pieces = static_cast<uint32_t>(bytes / (most_bytes / 2) + 1);
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      cut.push_back(
          {.partitions = chunk.partitions, .piece = piece, .pieces = pieces, .blocks = blocks});
    }
  }
  return cut;
}

std::pair<uint32_t, uint32_t> RequestPlan::KeysOf(const Chunk& chunk, uint32_t partition) const {
  const absl::Span<const Segment> segments = SegmentsOf(partition);
  if (segments.empty()) return {0, 0};
  const uint32_t begin = segments.front().begin;
  const size_t count = segments.back().end - begin;
  return {begin + Before(chunk.piece, chunk.pieces, count),
          begin + Before(chunk.piece + 1, chunk.pieces, count)};
}

absl::Span<const BlockId> RequestPlan::BlocksOf(const Chunk& chunk, uint32_t partition) const {
  const absl::Span<const BlockId> blocks = BlocksOf(partition, chunk.blocks);
  const uint32_t begin = Before(chunk.piece, chunk.pieces, blocks.size());
  return blocks.subspan(begin, Before(chunk.piece + 1, chunk.pieces, blocks.size()) - begin);
}

absl::Span<const RequestPlan::Segment> RequestPlan::SegmentsOf(uint32_t partition) const {
  const uint32_t begin = segment_begin_[partition];
  return absl::MakeSpan(segments_).subspan(begin, segment_begin_[partition + 1] - begin);
}

absl::Span<const BlockId> RequestPlan::BlocksOf(uint32_t partition, Blocks blocks) const {
  if (!dense_) return {};
  const auto index = static_cast<PartitionIndex>(partition);
  const auto all =
      blocks == Blocks::kAll ? map_->layout().blocks_of(index) : map_->changing_blocks_of(index);
  if (!tensor_) return all;
  // Ids ascend with the tensors, so the blocks of one tensor are next to each other.
  const auto of = [this](BlockId id) { return map_->layout().block(id).tensor; };
  const auto begin =
      std::partition_point(all.begin(), all.end(), [&](BlockId id) { return of(id) < *tensor_; });
  const auto end =
      std::partition_point(begin, all.end(), [&](BlockId id) { return of(id) == *tensor_; });
  return all.subspan(static_cast<size_t>(begin - all.begin()), static_cast<size_t>(end - begin));
}

size_t RequestPlan::MessageBytes(uint32_t partition, Blocks blocks, size_t value_bytes) const {
  size_t keys = 0;
  for (const Segment& segment : SegmentsOf(partition)) keys += segment.end - segment.begin;
  return kMessageFrontBytes + keys * kKeyBytes + Values(partition, blocks) * value_bytes;
}

absl::Status RequestPlan::CheckSize(const Chunk& chunk, size_t value_bytes,
                                    size_t most_bytes) const {
  if (chunk.partitions.size() != 1) return absl::OkStatus();  // About kChunkBytes.
  const uint32_t partition = chunk.partitions.front();
  const size_t bytes = MessageBytes(partition, chunk.blocks, value_bytes);
  if (bytes <= most_bytes) return absl::OkStatus();
  size_t keys = 0;
  for (const Segment& segment : SegmentsOf(partition)) keys += segment.end - segment.begin;
  return absl::InvalidArgumentError(
      absl::StrCat("a batch's share of partition ", partition, " is ", keys, " keys and ",
                   Values(partition, chunk.blocks), " values, ", bytes >> 20, " MiB, and may be ",
                   most_bytes >> 20, ": raise partition_count (it is ", map_->partition_count(),
                   "), or lower train.batch_size"));
}

size_t RequestPlan::Values(uint32_t partition, Blocks blocks) const {
  size_t floats = 0;
  for (const Segment& segment : SegmentsOf(partition)) {
    floats += size_t{segment.end - segment.begin} * map_->tables()[segment.table].dim;
  }
  for (BlockId block : BlocksOf(partition, blocks)) floats += map_->layout().block(block).length;
  return floats;
}

}  // namespace capstan
