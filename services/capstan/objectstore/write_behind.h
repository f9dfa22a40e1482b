// Appends to an object in the background.
#ifndef CAPSTAN_OBJECTSTORE_WRITE_BEHIND_H_
#define CAPSTAN_OBJECTSTORE_WRITE_BEHIND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/background.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Appended bytes are in memory until the writer has accepted them. If this object is destroyed
// without Commit, it leaves no stored object, and waits only for the piece that is being written.
// Thread-compatible.
class WriteBehind {
 public:
  // `background` and `taken` must outlive this object. `taken`, unless null, is increased by the
  // number of bytes that the writer accepts.
  WriteBehind(std::unique_ptr<ObjectWriter> writer, Background& background,
              std::atomic<uint64_t>* taken = nullptr)
      : writer_(std::move(writer)), background_(background), taken_(taken) {}
  ~WriteBehind() { Abandon(); }

  // Does not wait for the writer. Returns the first error of earlier pieces; after an error the
  // piece is dropped.
  absl::Status Append(std::string piece) ABSL_LOCKS_EXCLUDED(mu_);
  // How many appended bytes the writer has not accepted yet; 0 after an error.
  size_t waiting_bytes() const ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until the writer has accepted every piece, or has failed.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mu_);
  // May be called at most once, after Flush.
  absl::Status Commit() { return writer_->Commit(); }

 private:
  void WriteWaiting() ABSL_LOCKS_EXCLUDED(mu_);
  void Abandon() ABSL_LOCKS_EXCLUDED(mu_);
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::unique_ptr<ObjectWriter> writer_;  // Used by work_ while that runs.
  Background& background_;
  std::atomic<uint64_t>* const taken_;
  std::unique_ptr<Background::Work> work_;

  mutable absl::Mutex mu_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mu_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Including the piece that is being written.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;      // work_ will check waiting_ once more.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_WRITE_BEHIND_H_
