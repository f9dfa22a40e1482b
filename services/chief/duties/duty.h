// What the duties of the chief have in common: each sees the job, and no other duty. What one wants
// of another it orders: Duties has the other carry it out.
#ifndef CAPSTAN_CHIEF_DUTIES_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_DUTY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/job/job_context.h"

namespace capstan::chief {

class Orders {
 public:
  // Everybody returns to the last checkpoint, or begins with the initial values. `cause`, of which
  // `shard` is the subject: for people; empty: the job starts.
  virtual void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) = 0;
  // One shard does, while the others go on.
  virtual void RecoverPartially(uint32_t shard, absl::Time now) = 0;
  // Those that were to do so alone cannot: everybody does.
  virtual void GiveUpPartialRecovery(const absl::Status& why, absl::Time now) = 0;
  // Partitions that are on their way stay where they are. CANCELLED: something else comes first.
  virtual void CancelMoves(const absl::Status& why, absl::Time now) = 0;
  // The view is made anew, and published as far as it may be: see StateDuty.
  virtual void RefreshView(absl::Time now) = 0;

 protected:
  ~Orders() = default;
};

// Thread-compatible, as all duties are.
class Duty {
 public:
  // Both outlive the duty.
  Duty(JobContext& job, Orders& orders) : job_(&job), orders_(&orders) {}
  Duty(const Duty&) = delete;
  // One that is assigned to keeps its own job: it goes on there as the other would.
  Duty& operator=(const Duty&) { return *this; }

 protected:
  ~Duty() = default;

  JobContext* const job_;
  Orders* const orders_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_DUTY_H_
