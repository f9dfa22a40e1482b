#include "ps/process/coordinator_link.h"

#include <utility>

#include "absl/status/statusor.h"
#include "capstan/base/log.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::ps {
namespace {

constexpr char kWatchCounts[] = "/capstan.v1.Ps/WatchCounts";
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr absl::Duration kPause = absl::Milliseconds(200);
// The pause after a refusal that will not change soon: a coordinator of an earlier version does not
// know the call, or its certificate authority does not know this shard.
constexpr absl::Duration kLongPause = absl::Seconds(30);
constexpr char kNoCounts[] =
    "the coordinator does not tell whose gradients are counted: this shard holds one of each lane "
    "until a round closes";
constexpr char kNoCommits[] =
    "the coordinator does not tell which rounds are closed: workers do, with requests that they "
    "make twice";
constexpr absl::Duration kTurn = absl::Milliseconds(100);

}  // namespace

CoordinatorLink::CoordinatorLink(Shard& shard, const Tls* tls, Watched watched)
    : shard_(shard),
      tls_(tls),
      silence_(watched == Watched::kCounts ? kNoCounts : kNoCommits),
      watch_(shard, watched),
      thread_([this] { Run(); }) {}

CoordinatorLink::~CoordinatorLink() {
  stopping_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void CoordinatorLink::SetView(const v1::View& view) {
  loop_.Post([this, view] {
    if (!watch_.SetView(view)) return;
    if (watching_) {
      loop_.Cancel(call_);
      void_ = true;
    }
    next_watch_ = absl::InfinitePast();
  });
}

void CoordinatorLink::Run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!watching_ && !watch_.address().empty() && shard_.clock().Now() >= next_watch_) Watch();
    loop_.Poll(kTurn);
  }
}

void CoordinatorLink::Watch() {
  if (connected_to_ != watch_.address()) {
    connected_to_ = watch_.address();
    channel_ = NewChannel(connected_to_, Role::kPs, tls_);
  }
  watching_ = true;
  const v1::WatchCountsRequest request = watch_.Request();
  call_ = loop_.Call<v1::WatchCountsReply>(
      channel_, kWatchCounts, request, kPatience,
      [this, request](const absl::StatusOr<v1::WatchCountsReply>& reply) {
        watching_ = false;
        if (std::exchange(void_, false)) return;
        const absl::StatusOr<bool> learned =
            reply.ok() ? watch_.Hear(request, *reply) : reply.status();
        if (learned.ok()) {
          unheard_.reset();
          if (!*learned) next_watch_ = shard_.clock().Now() + kPause;
          return;
        }
        OnUnheard(learned.status());
      });
}

void CoordinatorLink::OnUnheard(const absl::Status& why) {
  const bool refused = absl::IsUnimplemented(why) || absl::IsPermissionDenied(why);
  if (refused) log::Warn(silence_, {{"coordinator", connected_to_}, {"error", why}});
  if (!refused) TellSilence(why);
  next_watch_ = shard_.clock().Now() + (refused ? kLongPause : kPause);
}

// A coordinator that starts or moves is unreachable for a moment, which is not logged. If it stays
// unreachable, rounds of large gradients stop, so that is logged.
void CoordinatorLink::TellSilence(const absl::Status& why) {
  const absl::Time now = shard_.clock().Now();
  if (!unheard_) unheard_.emplace(now);
  if (unheard_->Due(now)) log::Warn(silence_, {{"coordinator", connected_to_}, {"error", why}});
}

}  // namespace capstan::ps
