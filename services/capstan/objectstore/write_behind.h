// Appends to an object beside the caller.
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

// What was appended and is not with the writer yet is in memory. Destroyed without Commit, it
// leaves no object, and waits for the piece under way only. Thread-compatible.
class WriteBehind {
 public:
  // `background` must outlive it; so must `taken`, to which the bytes are added that the writer has
  // taken.
  WriteBehind(std::unique_ptr<ObjectWriter> writer, Background& background,
              std::atomic<uint64_t>* taken = nullptr)
      : writer_(std::move(writer)), background_(background), taken_(taken) {}
  ~WriteBehind() { Abandon(); }

  // Does not wait for the writer. The first error of pieces before this one, which is dropped then.
  absl::Status Append(std::string piece) ABSL_LOCKS_EXCLUDED(mu_);
  // Bytes that were appended and are not with the writer yet; 0 once it has failed.
  size_t waiting_bytes() const ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until the writer has every piece, or has failed.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mu_);
  // At most once, after Flush.
  absl::Status Commit() { return writer_->Commit(); }

 private:
  void WriteWaiting() ABSL_LOCKS_EXCLUDED(mu_);
  void Abandon() ABSL_LOCKS_EXCLUDED(mu_);
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::unique_ptr<ObjectWriter> writer_;  // Used by the work, while there is some.
  Background& background_;
  std::atomic<uint64_t>* const taken_;
  std::unique_ptr<Background::Work> work_;

  mutable absl::Mutex mu_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mu_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // With the piece that the writer is taking.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;      // The work will look at what waits once more.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_WRITE_BEHIND_H_
