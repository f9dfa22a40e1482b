#include "tests/integration/shard/counting_client.h"

#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"

namespace capstan {

CountingClient::CountingClient(const v1::JobSpec& job, const v1::View& view, uint32_t column,
                               uint32_t rows)
    : view_(view),
      map_(*ParameterMap::Create(job)),
      column_(column),
      dim_(map_.tables()[0].dim),
      plan_(map_) {
  for (uint32_t row = 0; row < rows; ++row) keys_.push_back(row);
  row_gradients_.assign(rows * dim_, 0);
  for (uint32_t row = 0; row < rows; ++row) row_gradients_[row * dim_ + column] = -1;
  dense_gradient_.assign(map_.layout().flat_size(), 0);
  dense_gradient_[column] = -1;
  Reconnect();
}

void CountingClient::Reconnect() {
  client_ = std::make_unique<PsClient>(loop_, map_, PsClientOptions());
  CAPSTAN_CHECK(client_->SetView(view_));
  const std::array<TableKeys, 1> tables = {TableKeys{0, keys_}};
  plan_.Build(tables, /*dense=*/true);
  plan_.Route(client_->owners());
}

void CountingClient::Refresh() {
  if (!refresh_) return;
  view_ = refresh_();
  if (client_->SetView(view_)) plan_.Route(client_->owners());
}

absl::Status CountingClient::Push() {
  const absl::Status settled = Settle(seq_);
  if (settled.ok()) ++seq_;
  return settled;
}

absl::Status CountingClient::Repeat() { return Settle(seq_ - 1); }

absl::Status CountingClient::Settle(uint64_t seq) {
  const std::array<const float*, 1> rows = {row_gradients_.data()};
  const PushOptions options = {.stream = StreamPush{StreamId::Task(0, column_), seq, {1, 1}, seq},
                               .timeout = absl::Seconds(2)};
  const absl::Time deadline = absl::Now() + patience_;
  for (;; ++retries_) {
    const PushResult result =
        client_->PushAll(plan_, options, {.rows = rows, .dense = dense_gradient_.data()});
    const bool again =
        absl::IsUnavailable(result.status) || absl::IsDeadlineExceeded(result.status) ||
        absl::IsCancelled(result.status) ||  // Its shard has died.
        result.count(v1::OUTCOME_BUSY) > 0 || (refresh_ && result.count(v1::OUTCOME_NOT_OWNER) > 0);
    if (again) Refresh();
    if (!again && !result.status.ok()) return result.status;
    if (!again && result.count(v1::OUTCOME_APPLIED) + result.count(v1::OUTCOME_SETTLED) +
                          result.count(v1::OUTCOME_QUEUED) ==
                      0) {
      return absl::InternalError("a push has met no outcome");
    }
    if (!again) return absl::OkStatus();
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("push ", seq, " is not settled: ", result.status.ToString()));
    }
  }
}

absl::StatusOr<std::vector<float>> CountingClient::Pull() {
  std::vector<float> cells(keys_.size() * dim_ + map_.layout().flat_size(), -1);
  const std::array<float*, 1> rows = {cells.data()};
  for (int attempt = 0;; ++attempt) {
    const PullResult result =
        client_->PullAll(plan_, {}, {.rows = rows, .dense = &cells[keys_.size() * dim_]});
    if (result.status.ok()) return cells;
    const bool moved = refresh_ && absl::IsFailedPrecondition(result.status);
    if ((!absl::IsUnavailable(result.status) && !moved) || attempt == 100) return result.status;
    Refresh();
  }
}

}  // namespace capstan
