// The ids of Capstan, each a type of its own, so that one cannot be passed for another.
#ifndef CAPSTAN_BASE_IDS_H_
#define CAPSTAN_BASE_IDS_H_

#include <compare>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace capstan {

enum class ShardIndex : int32_t {};
enum class PartitionIndex : int32_t {};
enum class LaneIndex : int32_t {};
enum class TableId : uint32_t {};
enum class BlockId : uint32_t {};

// Random 64-bit id of one process life; never 0.
enum class Incarnation : uint64_t {};

// One compute thread of a worker, as identified by the chief and the shards. The chief never gives
// an id out twice.
enum class TrainerId : uint64_t {};

// A number that increases whenever a rollback discards updates.
enum class Timeline : uint64_t {};

// Epoch of a view, ordered: (the chief's term, count within the term).
struct ViewEpoch {
  uint64_t term = 0;
  uint64_t n = 0;
  friend auto operator<=>(const ViewEpoch&, const ViewEpoch&) = default;
};

// Generation of a lease, ordered: (the chief's term, count within the term). No generation is given
// out twice.
struct Generation {
  uint64_t term = 0;
  uint64_t count = 0;
  // The seal that the lease's holder was given (v1::Generation); elsewhere 0. Not compared.
  uint64_t seal = 0;
  friend bool operator==(const Generation& a, const Generation& b) {
    return a.term == b.term && a.count == b.count;
  }
  friend std::strong_ordering operator<=>(const Generation& a, const Generation& b) {
    return a.term != b.term ? a.term <=> b.term : a.count <=> b.count;
  }
};

// The sequence of pushes to which a push belongs: a task of an epoch, or a client's session.
struct StreamId {
  static constexpr uint64_t kSessionBit = uint64_t{1} << 63;

  static StreamId Task(uint32_t data_epoch, uint32_t task) {
    return {(uint64_t{data_epoch} << 32) | task};
  }
  static StreamId Session(uint64_t session) { return {session | kSessionBit}; }
  bool is_session() const { return (value & kSessionBit) != 0; }

  uint64_t value = 0;
  friend auto operator<=>(const StreamId&, const StreamId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StreamId& id) {
    return H::combine(std::move(h), id.value);
  }
};

// The two halves of a model, which may have different update policies, versions and ledgers.
enum class Part : int { kDense = 0, kSparse = 1 };
inline constexpr int kParts = 2;

// Returns the underlying number of an id.
template <typename Id>
constexpr auto Raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_IDS_H_
