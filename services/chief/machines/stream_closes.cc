#include "chief/machines/stream_closes.h"

#include <map>

#include "capstan/consistency/job_lanes.h"

namespace capstan::chief {

StreamCloses::StreamCloses(const v1::JobSpec& spec)
    : closes_(UsesStreams(spec)), logs_(spec.recovery() == v1::RECOVERY_PARTIAL) {}

void StreamCloses::Add(v1::StreamClose close, StateWriter& writer) {
  if (!closes_) return;
  if (logs_) log_.Add(close);
  waiting_.emplace_back(writer.Note(), std::move(close));
}

void StreamCloses::Inherit(const v1::StreamClose& close) {
  waiting_.emplace_back(0, close);
  if (logs_) log_.Add(close);
}

void StreamCloses::ReturnTo(const v1::Manifest& manifest,
                            absl::FunctionRef<bool(const v1::StreamClose&)> done) {
  std::map<uint64_t, v1::StreamClose> open;  // By stream, so that each is closed once.
  const auto keep = [&](const auto& closes) {
    for (const v1::StreamClose& close : closes) {
      if (done(close)) open.try_emplace(close.stream(), close);
    }
  };
  keep(manifest.unclosed());
  keep(Unconfirmed());
  keep(log_.closes());
  closer_ = StreamCloser();
  waiting_.clear();
  log_ = CloseLog();
  for (const auto& [stream, close] : open) Inherit(close);
}

void StreamCloses::PassOn(bool quiet, const StateWriter& writer) {
  while (!quiet && !waiting_.empty() && writer.IsStored(waiting_.front().first)) {
    closer_.Add(std::move(waiting_.front().second));
    waiting_.pop_front();
  }
}

void StreamCloses::SendAnew() {
  for (v1::StreamClose& close : closer_.TakeAll()) closer_.Add(std::move(close));
}

std::deque<v1::StreamClose> StreamCloses::Unconfirmed() const {
  std::deque<v1::StreamClose> unconfirmed = closer_.unconfirmed();
  for (const auto& [ticket, close] : waiting_) unconfirmed.push_back(close);
  return unconfirmed;
}

}  // namespace capstan::chief
