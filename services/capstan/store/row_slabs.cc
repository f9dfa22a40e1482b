#include "capstan/store/row_slabs.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "capstan/base/check.h"

namespace capstan {
namespace {

// Large enough that allocations are rare, small enough that a half empty slab in each of 256
// partitions does not matter.
constexpr size_t kSlabBytes = 256 * 1024;
// The same for the first slabs, which each of many tables has in each of 256 partitions.
constexpr size_t kFirstSlabBytes = 16 * 1024;

// Returns the log2 of the largest power of 2 of rows that fits into `bytes`; at least 0.
int RowsIn(size_t bytes, size_t row_bytes) {
  return std::bit_width(std::max<size_t>(1, bytes / row_bytes)) - 1;
}

}  // namespace

RowSlabs::RowSlabs(size_t floats, SlabArena* arena)
    : tail_offset_(sizeof(uint64_t) + floats * sizeof(float)),
      row_bytes_((tail_offset_ + 2 * sizeof(uint32_t) + 7) / 8 * 8),
      large_(RowsIn(kSlabBytes, row_bytes_)),
      small_(RowsIn(kFirstSlabBytes, row_bytes_)),
      arena_(arena) {}

void RowSlabs::Return::operator()(char* slab) const {
  if (arena == nullptr) return std::free(slab);
  arena->Free(slab, bytes);
}

RowSlabs::Slab RowSlabs::NewSlab() const {
  const size_t rows = FirstOf(slabs_.size() + 1) - FirstOf(slabs_.size());
  const size_t bytes = (rows * row_bytes_ + kCacheLine - 1) / kCacheLine * kCacheLine;
  // Larger slabs contain a single huge row, and need no huge pages.
  if (arena_ != nullptr && bytes <= SlabArena::kMaxSlabBytes) {
    return Slab(arena_->Allocate(bytes), {arena_, bytes});
  }
  Slab slab(static_cast<char*>(std::aligned_alloc(kCacheLine, bytes)), {nullptr, bytes});
  CAPSTAN_CHECK(slab != nullptr);
  return slab;
}

uint32_t RowSlabs::Append() {
  if (size_ == FirstOf(slabs_.size())) slabs_.push_back(NewSlab());
  return size_++;
}

uint32_t RowSlabs::Remove(uint32_t row) {
  const uint32_t last = size_ - 1;
  if (row != last) std::memcpy(Address(row), Address(last), row_bytes_);
  --size_;
  // One empty slab is kept, so that a table at its limit does not free and allocate in turns.
  if (slabs_.size() >= 2 && FirstOf(slabs_.size() - 2) >= size_) slabs_.pop_back();
  return last;
}

}  // namespace capstan
