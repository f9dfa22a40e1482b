#include "capstan/store/row_slabs.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "capstan/base/check.h"

namespace capstan {
namespace {

// Big enough to be rare, small enough that a half empty one in each of 256 partitions is nothing.
constexpr size_t kSlabBytes = 256 * 1024;

}  // namespace

RowSlabs::RowSlabs(size_t floats, SlabArena* arena)
    : tail_offset_(sizeof(uint64_t) + floats * sizeof(float)),
      row_bytes_((tail_offset_ + 2 * sizeof(uint32_t) + 7) / 8 * 8),
      slab_shift_(std::bit_width(std::max<size_t>(1, kSlabBytes / row_bytes_)) - 1),
      arena_(arena) {}

void RowSlabs::Return::operator()(char* slab) const {
  if (arena == nullptr) return std::free(slab);
  arena->Free(slab, bytes);
}

RowSlabs::Slab RowSlabs::NewSlab() const {
  const size_t bytes = (slab_rows() * row_bytes_ + kCacheLine - 1) / kCacheLine * kCacheLine;
  // Slabs of a single huge row need no help.
  if (arena_ != nullptr && bytes <= SlabArena::kMaxSlabBytes) {
    return Slab(arena_->Allocate(bytes), {arena_, bytes});
  }
  Slab slab(static_cast<char*>(std::aligned_alloc(kCacheLine, bytes)), {nullptr, bytes});
  CAPSTAN_CHECK(slab != nullptr);
  return slab;
}

uint32_t RowSlabs::Append() {
  if (size_ == slabs_.size() * slab_rows()) slabs_.push_back(NewSlab());
  return size_++;
}

uint32_t RowSlabs::Remove(uint32_t row) {
  const uint32_t last = size_ - 1;
  if (row != last) std::memcpy(Address(row), Address(last), row_bytes_);
  --size_;
  // One empty slab stays, so that a table at its limit does not free and allocate in turns.
  if (slabs_.size() * slab_rows() >= size_ + 2 * slab_rows()) slabs_.pop_back();
  return last;
}

}  // namespace capstan
