// The memory of a table's rows, which are numbered contiguously. It consists of slabs: each is as
// large as all before it together, until they reach a size at which allocations are rare. So a
// small table takes little memory, which matters because a job has one in each partition for each
// of its tables.
#ifndef CAPSTAN_STORE_ROW_SLABS_H_
#define CAPSTAN_STORE_ROW_SLABS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "capstan/base/prefetch.h"
#include "capstan/store/slab_arena.h"

namespace capstan {

// Thread-compatible. A Row is valid until Remove() removes or moves it.
class RowSlabs {
 public:
  // The layout of a row: key (8 bytes) | weights, then slots (`floats`) | frequency (4) | last
  // touched (4).
  class Row {
   public:
    uint64_t& key() const { return *reinterpret_cast<uint64_t*>(bytes_); }
    float* state() const { return reinterpret_cast<float*>(bytes_ + sizeof(uint64_t)); }
    uint32_t& frequency() const { return tail()[0]; }
    uint32_t& touched() const { return tail()[1]; }
    const char* bytes() const { return bytes_; }  // row_bytes() long.

   private:
    friend class RowSlabs;
    Row(char* bytes, size_t tail_offset) : bytes_(bytes), tail_offset_(tail_offset) {}
    uint32_t* tail() const { return reinterpret_cast<uint32_t*>(bytes_ + tail_offset_); }

    char* bytes_;
    size_t tail_offset_;
  };

  // `arena` must outlive this object; null: slabs come from malloc.
  explicit RowSlabs(size_t floats, SlabArena* arena = nullptr);

  uint32_t size() const { return size_; }
  Row at(uint32_t row) const { return Row(Address(row), tail_offset_); }
  // Returns a row of the same layout at `bytes`, which must be aligned for a uint64_t.
  Row Over(char* bytes) const { return Row(bytes, tail_offset_); }

  // Prefetches the first `bytes` of a row: its key, then its floats.
  void Prefetch(uint32_t row, size_t bytes) const { capstan::Prefetch(Address(row), bytes); }

  // Prefetches the pointers to the first slabs.
  void PrefetchPlaces() const {
    if (!slabs_.empty()) capstan::Prefetch(slabs_.data(), sizeof(Slab));
  }

  // Adds a row with unspecified content and returns its number.
  uint32_t Append();

  // Removes the row by moving the last row to its place. Returns the former number of the moved
  // row.
  uint32_t Remove(uint32_t row);

  size_t row_bytes() const { return row_bytes_; }
  size_t memory_bytes() const { return FirstOf(slabs_.size()) * row_bytes_; }

 private:
  struct Return {
    void operator()(char* slab) const;

    SlabArena* arena = nullptr;
    size_t bytes = 0;
  };
  using Slab = std::unique_ptr<char, Return>;

  // Slabs 0 and 1 have 2^small_ rows; each of the next has twice as many as the one before; from
  // the slab with 2^large_ rows on, all have that size.
  Slab NewSlab() const;
  size_t SlabOf(uint32_t row) const {
    if (row >> large_ != 0) return static_cast<size_t>(large_ - small_) + (row >> large_);
    return static_cast<size_t>(std::bit_width(row >> small_));
  }
  // The first row of `slab`, which is how many rows the slabs before it have.
  size_t FirstOf(size_t slab) const {
    const auto doublings = static_cast<size_t>(large_ - small_);
    if (slab > doublings) return (slab - doublings) << large_;
    return slab == 0 ? 0 : size_t{1} << (static_cast<size_t>(small_) + slab - 1);
  }
  char* Address(uint32_t row) const {
    const size_t slab = SlabOf(row);
    return slabs_[slab].get() + (row - FirstOf(slab)) * row_bytes_;
  }

  size_t tail_offset_;
  size_t row_bytes_;
  int large_;
  int small_;
  uint32_t size_ = 0;
  SlabArena* arena_;
  std::vector<Slab> slabs_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROW_SLABS_H_
