// A shell of leases that notes what their runners ask for, and answers what an input says.
#ifndef CAPSTAN_TESTS_FUZZ_FUZZED_SHELL_H_
#define CAPSTAN_TESTS_FUZZ_FUZZED_SHELL_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/lib/no_tasks.h"
#include "worker/machines/runner_machine.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/lease_shell.h"

namespace capstan::worker {

// What becomes of the oldest thing of its kind that was asked for. The message of kRead names the
// shards that hold the batch, a byte each; an empty one is the end of the data. That of kFailed is
// the status and which call has failed.
enum class Answer : uint8_t {
  kOpenRound,
  kReportLane,
  kPush,
  kRead,
  kPulled,
  kComputed,
  kClock,
  kFailed,
};
inline constexpr uint8_t kAnswers = 8;

class FuzzedShell;

// The shells of a trainer, and what they see of it.
struct Desk {
  absl::Time now;
  v1::View view;
  std::list<FuzzedShell*> shells;  // Those whose turn to be answered comes first are in front.
};

// Thread-compatible.
class FuzzedShell final : public LeaseShell {
 public:
  explicit FuzzedShell(Desk& desk) : desk_(desk) { desk_.shells.push_back(this); }
  ~FuzzedShell() override { desk_.shells.remove(this); }

  // Returns false if nothing of that kind was asked for.
  bool Hear(Answer kind, std::string_view message);

  void Begin(LeaseEvents& events) override { events_ = &events; }
  absl::Time Now() const override { return desk_.now; }
  double Random() override { return 0.5; }
  const v1::View& view() const override { return desk_.view; }
  TasksRead& tasks() override { return tasks_; }

  void Do(const ReadBatch& action) override { reads_.push_back(action.batch); }
  void Do(const SendPull& action) override { pulls_.push_back(action.ticket); }
  void Do(const Compute& action) override { computes_.push_back(action.batch); }
  void Do(const SendPush& action) override { pushes_.push_back(action.ticket); }
  void Do(const SendClock& action) override { clocks_.push_back(action.ticket); }
  void Do(const SendReport& action) override { reports_.push_back(action.ticket); }
  void Do(const Forget& action) override { batches_.erase(action.batch); }
  void Open(const SendOpen& action, absl::Time asked,
            std::optional<WaitingTurns::Turn> turn) override;

  std::vector<BatchRead> Replan() override;
  bool Needs(uint64_t batch, ShardIndex shard) const override;
  void Extend(const v1::Lease&) override {}
  void ReadToEnd(uint64_t) override { reads_to_end_ = true; }
  void OnHandled(const Event&, const RunnerMachine&) override {}
  void OnFinished(bool) override {}
  void AddResults(v1::LeaseReport&) const override {}

 private:
  struct OpenCall {
    Ticket ticket = 0;
    std::optional<WaitingTurns::Turn> turn;
  };

  template <typename Reply>
  bool HearRounds(std::string_view message, Ticket ticket);
  bool HearPush(std::string_view message);
  bool HearRead(std::string_view shards);
  bool HearComputed(std::string_view message);
  bool HearFailure(std::string_view message);
  std::vector<ShardIndex> ShardsOf(const std::string& batch) const;

  Desk& desk_;
  LeaseEvents* events_ = nullptr;
  NoTasks tasks_;
  std::deque<uint64_t> reads_;
  std::deque<uint64_t> computes_;
  std::deque<Ticket> pulls_;
  std::deque<Ticket> pushes_;
  std::deque<Ticket> clocks_;
  std::deque<Ticket> reports_;
  std::deque<OpenCall> opens_;
  std::map<uint64_t, std::string> batches_;  // Those that were read, and what names their shards.
  uint64_t beyond_ = 0;                      // The number after the last batch that was read.
  std::optional<uint64_t> end_;              // How many batches there are, once that was said.
  bool reads_to_end_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_TESTS_FUZZ_FUZZED_SHELL_H_
