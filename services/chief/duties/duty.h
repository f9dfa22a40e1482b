// The base of the chief's duties. Each sees the job, but no other duty. What another duty has to do
// for it, it requests through Orders, and Duties passes the request on.
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
  // All shards return to the last checkpoint, or start with the initial values. `cause` is for
  // people, and `shard` is the shard that it is about. An empty cause means that the job starts.
  virtual void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) = 0;
  // The same for a job that an earlier chief has begun, none of whose shards has kept its
  // partitions: the job continues, and has only lost what was trained after the last checkpoint.
  virtual void GoOnFromCheckpoint(std::string_view cause, absl::Time now) = 0;
  // One shard returns to the last checkpoint, while the others continue.
  virtual void RecoverPartially(uint32_t shard, absl::Time now) = 0;
  // The shards that are recovering alone cannot: all shards return to a checkpoint.
  virtual void GiveUpPartialRecovery(const absl::Status& why, absl::Time now) = 0;
  // Partitions that are being moved stay where they are. `why` is CANCELLED if something else has
  // priority, and another code if the moves have failed.
  virtual void CancelMoves(const absl::Status& why, absl::Time now) = 0;
  // Rebuilds the view, and publishes it if it may be published: see StateDuty.
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
  // Assignment copies the state of the other duty, but keeps this one's job and orders.
  Duty& operator=(const Duty&) { return *this; }

 protected:
  ~Duty() = default;

  JobContext* const job_;
  Orders* const orders_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_DUTY_H_
