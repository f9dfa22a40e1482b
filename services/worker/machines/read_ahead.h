// What the leases of a worker read ahead. The batch that a lease's runner works on, or will next,
// is read at once. Those beyond it are read only while such batches of all leases together are
// fewer, and take less, than is allowed: a worker may hold many lanes, each of which has a batch to
// work on anyway, and batches of images are large.
#ifndef CAPSTAN_WORKER_MACHINES_READ_AHEAD_H_
#define CAPSTAN_WORKER_MACHINES_READ_AHEAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

namespace capstan::worker {

// What all leases of a worker together may read ahead.
struct ReadAheadLimits {
  uint64_t batches = 0;
  uint64_t bytes = 0;  // One batch may be beyond this limit.
};

// `who`, an address, names a lease; one that has left is not listened to. *Thread-compatible*.
class ReadAhead {
 public:
  using Read = std::function<void(uint64_t batch)>;

  // Until a first batch has shown how large batches are, none is read ahead.
  explicit ReadAhead(ReadAheadLimits limits) : limits_(limits) {}

  // The batches of `who` are read by read(), which may call the methods of this object.
  void Join(const void* who, Read read);
  void Leave(const void* who);

  // Has `batch` read: within this call, or within a later call for any lease. The numbers of a
  // lease ascend.
  void Ask(const void* who, uint64_t batch);
  // The runner works on `batch` now, or will as soon as it is read; it reads none before it again.
  void Reach(const void* who, uint64_t batch);
  void OnRead(const void* who, uint64_t batch, uint64_t bytes);
  // There are so many batches: whoever asked for later ones is answered that.
  void OnEnd(const void* who, uint64_t batches);

 private:
  struct Asked {
    uint64_t batch = 0;
    uint64_t question = 0;  // The number of the Ask() among those of all leases.
  };
  using Ahead = std::map<uint64_t, uint64_t>;  // Bytes of batches, by their numbers.
  struct Lease {
    Read read;
    uint64_t at = 0;
    std::deque<Asked> waiting;
    // Bytes of the batches beyond `at` that are being read, which count as the largest one so far,
    // or are read.
    Ahead ahead;

    uint64_t Distance() const;  // From `at` to the first that waits.
  };
  Lease* Find(const void* who);
  Lease* Next();
  void BeginNext();
  void Drop(Lease& lease, Ahead::iterator begin, Ahead::iterator end);

  const ReadAheadLimits limits_;
  uint64_t batches_ = 0;             // So many are ahead, of all leases,
  uint64_t bytes_ = 0;               // and take so many bytes.
  std::optional<uint64_t> largest_;  // Bytes of the largest batch that was read.
  uint64_t questions_ = 0;
  std::map<const void*, Lease> leases_;
  bool beginning_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_READ_AHEAD_H_
