// What a shard asks the coordinator of the synchronous rounds next, and what it does with the
// answer. The coordinator is on the owner of partition 0.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Thread-compatible.
class CoordinatorWatch {
 public:
  // `shard` must outlive the watch.
  explicit CoordinatorWatch(Shard& shard) : shard_(shard) {}

  // The view says where the coordinator is, and of which timeline. True: it is another one, so what
  // the one before was asked is void.
  bool SetView(const v1::View& view);

  // Where to ask. Empty: no view has said so.
  const std::string& address() const { return address_; }
  uint32_t coordinator() const { return coordinator_; }  // Its shard's number.
  // What has not been told in the view's timeline.
  v1::WatchCountsRequest Request() const;

  // Tells the shard what the coordinator answered to `asked`. False: the shard does not serve the
  // view's timeline yet and has learned nothing, so the same is to be asked again, a little later.
  // Nothing happens if the view has changed meanwhile. INVALID_ARGUMENT: it is no answer.
  absl::StatusOr<bool> Hear(const v1::WatchCountsRequest& asked, const v1::WatchCountsReply& reply);

 private:
  Shard& shard_;
  std::string address_;
  uint32_t coordinator_ = 0;
  uint64_t incarnation_ = 0;
  uint64_t timeline_ = 0;
  // How much of what the coordinator has told in timeline_ the shard has learned.
  uint64_t round_ = 0;
  uint32_t counted_ = 0;
  uint32_t ended_ = 0;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_WATCH_H_
