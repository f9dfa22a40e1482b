// A peer that watches the chief's views, without a server.
#ifndef CAPSTAN_TESTS_UNIT_CHIEF_WATCH_CALL_H_
#define CAPSTAN_TESTS_UNIT_CHIEF_WATCH_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/statusor.h"
#include "capstan/base/check.h"
#include "capstan/placement/view_reader.h"
#include "capstan/rpc/limits.h"
#include "capstan/v1/view.pb.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// gRPC's part of a WatchView call, and its watcher.
class WatchCall final : public grpc::ServerCallbackWriter<v1::View> {
 public:
  WatchCall(ViewFeed& feed, const ViewFeed::Caller& caller)
      : WatchCall(feed.Watch(caller), caller.process.incarnation != 0, caller.differences) {}
  // `reactor` is what the feed has returned for the call: of a shard's process, or of another
  // watcher.
  WatchCall(grpc::ServerWriteReactor<v1::View>* reactor, bool is_shard, bool differences)
      : is_shard_(is_shard), differences_(differences), reactor_(reactor) {
    BindReactor(reactor_);
  }
  ~WatchCall() override {
    reactor_->OnCancel();
    TakeWrites();
    CAPSTAN_CHECK(over_);
    reactor_->OnDone();  // Deletes it.
  }

  // Returns true if the call has ended: nobody watches.
  bool over() const { return over_; }

  // The peer has got all that was written.
  void TakeWrites() {
    while (const v1::View* const message = std::exchange(writing_, nullptr)) {
      CAPSTAN_CHECK(differences_ || !message->has_difference());
      const absl::StatusOr<v1::View> view = reader_.Read(*message);
      CAPSTAN_CHECK(view.ok());
      CAPSTAN_CHECK(is_shard_ || view->trainers().empty());
      seen_ = *view;
      reactor_->OnWriteDone(true);
    }
  }
  // Who watches has what has been published; who is no shard has it but for the trainers, perhaps
  // under an earlier epoch.
  void CheckHas(v1::View published) const {
    if (over_) return;
    if (!is_shard_) {
      published.clear_trainers();
      *published.mutable_epoch() = seen_.epoch();
    }
    CAPSTAN_CHECK(seen_.SerializeAsString() == published.SerializeAsString());
  }

  // What the reactor asks of gRPC.
  void Write(const v1::View* view, grpc::WriteOptions) override { writing_ = view; }
  void WriteAndFinish(const v1::View* view, grpc::WriteOptions, grpc::Status status) override {
    writing_ = view;
    Finish(std::move(status));
  }
  void SendInitialMetadata() override {}
  void Finish(grpc::Status) override { over_ = true; }

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  const bool is_shard_;
  const bool differences_;
  ViewReader reader_{/*most_bytes=*/kMaxMessageBytes};
  v1::View seen_;
  const v1::View* writing_ = nullptr;
  bool over_ = false;
  grpc::ServerWriteReactor<v1::View>* const reactor_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_UNIT_CHIEF_WATCH_CALL_H_
