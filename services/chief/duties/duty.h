// What the duties of the chief have in common. Each sees the job, and no other duty. What one wants
// of another it orders, and Duties has the other carry it out.
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
  // Everybody returns to the last checkpoint, or begins with the initial values. `cause` tells
  // people why, and `shard` is the shard that it speaks of; an empty cause: the job starts.
  virtual void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) = 0;
  // The same for a job that an earlier chief has begun, and none of whose shards holds any more
  // what it held then: it goes on, and has lost only what had been trained after the last
  // checkpoint.
  virtual void GoOnFromCheckpoint(std::string_view cause, absl::Time now) = 0;
  // One shard returns to the last checkpoint, while the others go on.
  virtual void RecoverPartially(uint32_t shard, absl::Time now) = 0;
  // The shards that are returning alone cannot: everybody returns.
  virtual void GiveUpPartialRecovery(const absl::Status& why, absl::Time now) = 0;
  // Partitions that are being moved stay where they are. `why` is CANCELLED if something else comes
  // first, another code if the moves have failed.
  virtual void CancelMoves(const absl::Status& why, absl::Time now) = 0;
  // Makes the view anew, and publishes it as far as it may be: see StateDuty.
  virtual void RefreshView(absl::Time now) = 0;

 protected:
  ~Orders() = default;
};

// Thread-compatible, as all duties are.
class Duty {
 public:
  // `job` and `orders` must outlive the duty.
  Duty(JobContext& job, Orders& orders) : job_(&job), orders_(&orders) {}
  Duty(const Duty&) = delete;
  // A duty that is assigned to takes over the state of the other, but keeps its own job.
  Duty& operator=(const Duty&) { return *this; }

 protected:
  ~Duty() = default;

  JobContext* const job_;
  Orders* const orders_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_DUTY_H_
