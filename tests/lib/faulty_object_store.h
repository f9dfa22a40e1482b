// An object store with faults: it fails, answers late, loses the answer, tears a write, or flips a
// bit of what is read.
//
//   const auto memory = MakeMemoryObjectStore();
//   FaultyObjectStore store(*memory);
//   store.FailNth(2, absl::UnavailableError("s3"));
//   store.SetPlan([](const StoreCall& call) -> StoreFault { ... });
#ifndef CAPSTAN_TESTS_LIB_FAULTY_OBJECT_STORE_H_
#define CAPSTAN_TESTS_LIB_FAULTY_OBJECT_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

struct StoreCall {
  // kAppend and kCommit are calls of a writer that Create has returned.
  enum class Kind { kWrite, kCreate, kAppend, kCommit, kRead, kStat, kList, kDelete };
  Kind kind;
  std::string key;  // kList: the prefix; kDelete: the first key.
  int64_t number;   // The number of the call among all calls of this store, from 1.

  // Returns whether the call makes an object visible: kWrite or kCommit.
  bool publishes() const { return kind == Kind::kWrite || kind == Kind::kCommit; }
};

struct StoreFault {
  // What a failing call does nevertheless. kDone: all of it. kTorn, for kWrite and kCommit: the
  // front half of the object is written, whatever the condition was, as on a volume that breaks its
  // promises; other calls do nothing.
  enum class Effect { kNothing, kDone, kTorn };

  absl::Status status = absl::OkStatus();  // OK: the call is carried out.
  Effect effect = Effect::kNothing;
  bool flip_bit = false;             // kRead: the last bit of the result is flipped.
  std::function<void()> pause = {};  // Called first. To make a slow store, wait here.
};

// Called before each call of the store, in the order of their numbers unless calls overlap.
using StoreFaultPlan = std::function<StoreFault(const StoreCall&)>;

// Thread-safe.
class FaultyObjectStore : public ObjectStore {
 public:
  // `base` must outlive this object, and this object must outlive its writers.
  explicit FaultyObjectStore(ObjectStore& base) : base_(base) {}

  void SetPlan(StoreFaultPlan plan) ABSL_LOCKS_EXCLUDED(mu_);
  // Replaces the plan: the n-th call from now on, counted from 1, does nothing and returns
  // `status`.
  void FailNth(int64_t n, absl::Status status) ABSL_LOCKS_EXCLUDED(mu_);
  void FailAlways(absl::Status status);
  void Heal() { SetPlan(nullptr); }

  int64_t calls() const ABSL_LOCKS_EXCLUDED(mu_);

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override;
  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override;
  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override;
  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override;
  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override;
  absl::Status DeleteAll(std::span<const std::string> keys) override;

 private:
  class Writer;

  // Numbers the call, asks the plan and pauses.
  StoreFault Meet(StoreCall::Kind kind, std::string_view key) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Tear(std::string_view key, std::string_view bytes);

  ObjectStore& base_;
  mutable absl::Mutex mu_;
  StoreFaultPlan plan_ ABSL_GUARDED_BY(mu_);
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_FAULTY_OBJECT_STORE_H_
