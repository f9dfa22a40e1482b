#include "tests/bench/dataplane/probes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/client/ps_client.h"
#include "capstan/placement/placement.h"
#include "capstan/rpc/channel.h"
#include "capstan/v1/chief.pb.h"
#include "tests/bench/dataplane/client.h"
#include "tests/bench/dataplane/input_lines.h"
#include "tests/bench/dataplane/measure.h"

namespace capstan::bench {
namespace {

constexpr int kPauseMilliseconds = 10;     // From an answer to the next pull.
constexpr double kPauseOfFailure = 0.001;  // Seconds from a failure.
constexpr double kWindow = 1;              // Seconds for which others are watched.
// A worker waits longer; whoever does not answer a pull of one row by then is asked again.
constexpr absl::Duration kTimeout = absl::Milliseconds(100);
constexpr absl::Duration kTick = absl::Milliseconds(1);

// One partition. Seconds are of Now().
class Probe {
 public:
  Probe(PsClient& client, const ParameterMap& map, PartitionIndex partition)
      : client_(client), plan_(map), row_(map.tables()[0].dim), rows_{row_.data()} {
    const std::array<uint64_t, 1> keys = {KeyIn(map, partition)};
    const std::array<TableKeys, 1> tables = {TableKeys{0, keys}};
    plan_.Build(tables, /*dense=*/false);
  }

  // Begins the next pull if it is due.
  void Step() {
    if (asking_ || Now() < next_) return;
    plan_.Route(client_.owners());
    const ShardIndex shard = plan_.shards().front();
    const double began = Now();
    if (!waiting_since_) waiting_since_ = began;
    asking_ = true;
    client_.Pull(shard, plan_, {.evaluation = true, .timeout = kTimeout}, {.rows = rows_},
                 [this, shard, began](const PullResult& result) {
                   asking_ = false;
                   next_ = Now() + (result.status.ok() ? pause_ : kPauseOfFailure);
                   if (result.status.ok()) Answered(shard, began);
                 });
  }

  void Forget() { answers_.clear(); }
  bool ServedAfter(double time) const { return FirstAfter(time) != nullptr; }
  // Whether the shard had answered the last pull that was answered before.
  bool WasOf(ShardIndex shard, double time) const {
    const Answer* before = nullptr;
    for (const Answer& answer : answers_) {
      if (answer.ended <= time) before = &answer;
    }
    return before != nullptr && before->shard == shard;
  }
  double MillisecondsUntilServed(double began, double over) const {
    return 1e3 * (FirstAfter(over)->ended - began);
  }
  double LongestWaitSince(double time) const {
    double longest = 0;
    for (const double wait : WaitsSince(time)) longest = std::max(longest, wait);
    return longest;
  }
  // Milliseconds of each pull that was asked or answered since.
  std::vector<double> WaitsSince(double time) const {
    std::vector<double> waits;
    for (const Answer& answer : answers_) {
      if (answer.ended >= time) waits.push_back(1e3 * (answer.ended - answer.wanted));
    }
    return waits;
  }
  // Whether another shard answers now than before.
  bool HasMovedSince(double time) const {
    return !answers_.empty() && !WasOf(answers_.back().shard, time);
  }

 private:
  struct Answer {
    ShardIndex shard{};
    double wanted;  // When the first try of this pull began,
    double began;   // when the one that was answered did,
    double ended;
  };

  static uint64_t KeyIn(const ParameterMap& map, PartitionIndex partition) {
    uint64_t key = 0;
    while (PartitionOfKey(key, map.tables()[0].seed, map.partition_count()) != partition) ++key;
    return key;
  }

  void Answered(ShardIndex shard, double began) {
    answers_.push_back({shard, *waiting_since_, began, Now()});
    waiting_since_.reset();
  }

  const Answer* FirstAfter(double time) const {
    const auto found = std::find_if(answers_.begin(), answers_.end(),
                                    [time](const Answer& answer) { return answer.began > time; });
    return found == answers_.end() ? nullptr : &*found;
  }

  PsClient& client_;
  RequestPlan plan_;
  std::vector<float> row_;
  const std::array<float*, 1> rows_;
  const double pause_ = Setting("CAPSTAN_BENCH_PAUSE_MS", kPauseMilliseconds) / 1e3;
  bool asking_ = false;
  double next_ = 0;
  std::optional<double> waiting_since_;
  std::vector<Answer> answers_;
};

class Probes {
 public:
  Probes(const std::string& folder, const std::string& address)
      : served_(ReadServedJob(folder)),
        map_(*ParameterMap::Create(served_.job)),
        chief_(NewChannel(address, Role::kChief)),
        client_(loop_, map_, {}) {
    CAPSTAN_CHECK(client_.SetView(served_.view));
    const auto count = static_cast<int>(map_.partition_count());
    for (int partition = 0; partition < count; ++partition) {
      probes_.push_back(std::make_unique<Probe>(client_, map_, PartitionIndex(partition)));
    }
    Watch();
  }

  void Run() {
    RunUntil([this] { return AllServedAfter(0); });
    std::printf("probing\n");
    std::fflush(stdout);
    while (true) {
      RunUntil([this] { return lines_.Waiting(); });
      const std::optional<std::string> line = lines_.Next();
      if (!line) return;
      Answer(*line);
    }
  }

 private:
  void Watch() {
    loop_.Stream<v1::View>(
        chief_, "/capstan.v1.Chief/WatchView", v1::WatchViewRequest(),
        [this](const v1::View& view) { (void)client_.SetView(view); },  // It may be the same.
        [](const absl::Status&) {});
  }

  template <typename Condition>
  void RunUntil(const Condition& condition) {
    while (!condition()) {
      for (const auto& probe : probes_) probe->Step();
      loop_.Poll(kTick);
    }
  }

  bool AllServedAfter(double time) const {
    return std::all_of(probes_.begin(), probes_.end(),
                       [time](const auto& probe) { return probe->ServedAfter(time); });
  }

  void Answer(const std::string& line) {
    std::istringstream words(line);
    double began = 0, over = 0;
    int shard = 0;
    words >> began;
    CAPSTAN_CHECK(!words.fail());
    if (words >> over >> shard) {
      AnswerBlow(began, over, shard);
    } else {
      AnswerMoves(began);
    }
    std::fflush(stdout);
    for (const auto& probe : probes_) probe->Forget();
  }

  void AnswerBlow(double began, double over, int shard) {
    RunUntil([&] { return Now() > began + kWindow && AllServedAfter(over); });
    std::vector<double> moved, others;
    for (const auto& probe : probes_) {
      if (probe->WasOf(ShardIndex(shard), began)) {
        moved.push_back(probe->MillisecondsUntilServed(began, over));
      } else {
        others.push_back(probe->LongestWaitSince(began));
      }
    }
    std::printf("{\"moved\": [%s], \"others\": [%s]}\n", absl::StrJoin(moved, ", ").c_str(),
                absl::StrJoin(others, ", ").c_str());
  }

  void AnswerMoves(double began) {
    const double asked = Now();
    RunUntil([&] { return AllServedAfter(asked); });
    std::vector<double> moved, others;
    for (const auto& probe : probes_) {
      const std::vector<double> waits = probe->WaitsSince(began);
      std::vector<double>& of = probe->HasMovedSince(began) ? moved : others;
      of.insert(of.end(), waits.begin(), waits.end());
    }
    std::printf("{\"moved\": %s, \"others\": %s}\n", Summary(moved).c_str(),
                Summary(others).c_str());
  }

  static std::string Summary(const std::vector<double>& waits) {
    if (waits.empty()) return "null";
    return absl::StrCat("{\"pulls\": ", waits.size(), ", \"p99.9\": ", Percentile(waits, 99.9),
                        ", \"longest\": ", Percentile(waits, 100), "}");
  }

  const ServedJob served_;
  const ParameterMap map_;
  EventLoop loop_;
  Channel chief_;
  PsClient client_;
  InputLines lines_;
  std::vector<std::unique_ptr<Probe>> probes_;
};

}  // namespace

void RunProbes(const std::string& folder, const std::string& address) {
  Probes(folder, address).Run();
}

}  // namespace capstan::bench
