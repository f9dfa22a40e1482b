#include "tests/bench/dataplane/probes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
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

constexpr int kPauseMilliseconds = 10;     // From an answer to the next call.
constexpr double kPauseOfFailure = 0.001;  // Seconds from a failure.
constexpr double kWindow = 1;              // Seconds for which others are watched.
constexpr float kGradient = 1e-6f;
// A worker waits longer; whoever does not answer a call for one row by then is asked again.
constexpr absl::Duration kTimeout = absl::Milliseconds(100);
constexpr absl::Duration kTick = absl::Milliseconds(1);

// A row of one partition that is asked for again and again; a subclass says what is asked. Seconds
// are of Now().
class Probe {
 public:
  Probe(PsClient& client, const ParameterMap& map, PartitionIndex partition)
      : client_(client), plan_(map), row_(map.tables()[0].dim) {
    const std::array<uint64_t, 1> keys = {KeyIn(map, partition)};
    const std::array<TableKeys, 1> tables = {TableKeys{0, keys}};
    plan_.Build(tables, /*dense=*/false);
  }
  virtual ~Probe() = default;

  // Begins the next call if it is due.
  void Step() {
    if (asking_ || Now() < next_) return;
    plan_.Route(client_.owners());
    const ShardIndex shard = plan_.shards().front();
    const double began = Now();
    if (!waiting_since_) waiting_since_ = began;
    asking_ = true;
    Ask(shard, [this, shard, began](bool well) {
      asking_ = false;
      next_ = Now() + (well ? pause_ : kPauseOfFailure);
      if (well) Answered(shard, began);
    });
  }

  void Forget() { answers_.clear(); }
  bool ServedAfter(double time) const { return FirstAfter(time) != nullptr; }
  // Whether the shard had answered the last call that was answered before.
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
  // Milliseconds of each call that was asked or answered since.
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

 protected:
  using OnAnswer = absl::AnyInvocable<void(bool well)>;
  // Calls the shard, as plan() says.
  virtual void Ask(ShardIndex shard, OnAnswer done) = 0;

  PsClient& client() { return client_; }
  const RequestPlan& plan() const { return plan_; }
  std::vector<float>& row() { return row_; }

 private:
  struct Answer {
    ShardIndex shard{};
    double wanted;  // When the first try of this call began,
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
  const double pause_ = Setting("CAPSTAN_BENCH_PAUSE_MS", kPauseMilliseconds) / 1e3;
  bool asking_ = false;
  double next_ = 0;
  std::optional<double> waiting_since_;
  std::vector<Answer> answers_;
};

class PullProbe final : public Probe {
 public:
  using Probe::Probe;

 private:
  void Ask(ShardIndex shard, OnAnswer done) override {
    client().Pull(
        shard, plan(), {.evaluation = true, .timeout = kTimeout}, {.rows = rows_},
        [done = std::move(done)](const PullResult& result) mutable { done(result.status.ok()); });
  }

  const std::array<float*, 1> rows_ = {row().data()};
};

// Of a stream of its own.
class PushProbe final : public Probe {
 public:
  PushProbe(PsClient& client, const ParameterMap& map, PartitionIndex partition)
      : Probe(client, map, partition),
        stream_(StreamId::Session(static_cast<uint64_t>(getpid()) * map.partition_count() +
                                  static_cast<uint64_t>(Raw(partition)))),
        versions_(map.partition_count()) {
    std::fill(row().begin(), row().end(), kGradient);
  }

 private:
  void Ask(ShardIndex shard, OnAnswer done) override {
    const PushOptions options{.stream = StreamPush{stream_, seq_, {1, 1}, seq_},
                              .timeout = kTimeout};
    client().Push(shard, plan(), options, {.rows = rows_, .versions = &versions_},
                  [this, done = std::move(done)](const PushResult& result) mutable {
                    const bool well = result.status.ok() && IsSettledIn(result);
                    if (well) ++seq_;
                    done(well);
                  });
  }

  static bool IsSettledIn(const PushResult& result) {
    return result.count(v1::OUTCOME_APPLIED) + result.count(v1::OUTCOME_SETTLED) > 0;
  }

  const StreamId stream_;
  uint64_t seq_ = 0;
  const PartitionVersions versions_;
  const std::array<const float*, 1> rows_ = {row().data()};
};

// All partitions, in one way.
using Crew = std::vector<std::unique_ptr<Probe>>;

class Probes {
 public:
  Probes(const std::string& folder, const std::string& address, bool pushes)
      : served_(ReadServedJob(folder)),
        map_(*ParameterMap::Create(served_.job)),
        chief_(NewChannel(address, Role::kChief, /*tls=*/nullptr)),
        client_(loop_, map_, {}) {
    CAPSTAN_CHECK(client_.SetView(served_.view));
    const auto count = static_cast<int>(map_.partition_count());
    for (int partition = 0; partition < count; ++partition) {
      pulls_.push_back(std::make_unique<PullProbe>(client_, map_, PartitionIndex(partition)));
      if (!pushes) continue;
      pushes_.push_back(std::make_unique<PushProbe>(client_, map_, PartitionIndex(partition)));
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
      for (const Crew* crew : {&pulls_, &pushes_}) {
        for (const auto& probe : *crew) probe->Step();
      }
      loop_.Poll(kTick);
    }
  }

  bool AllServedAfter(double time) const {
    const auto served = [time](const auto& probe) { return probe->ServedAfter(time); };
    return std::all_of(pulls_.begin(), pulls_.end(), served) &&
           std::all_of(pushes_.begin(), pushes_.end(), served);
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
    for (const Crew* crew : {&pulls_, &pushes_}) {
      for (const auto& probe : *crew) probe->Forget();
    }
  }

  void AnswerBlow(double began, double over, int shard) {
    RunUntil([&] { return Now() > began + kWindow && AllServedAfter(over); });
    std::vector<double> moved, others;
    for (const auto& probe : pulls_) {
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
    std::printf("{\"pulls\": %s, \"pushes\": %s}\n", WaitsOf(pulls_, began).c_str(),
                WaitsOf(pushes_, began).c_str());
  }

  static std::string WaitsOf(const Crew& crew, double began) {
    std::vector<double> moved, others;
    for (const auto& probe : crew) {
      const std::vector<double> waits = probe->WaitsSince(began);
      std::vector<double>& of = probe->HasMovedSince(began) ? moved : others;
      of.insert(of.end(), waits.begin(), waits.end());
    }
    return absl::StrCat("{\"moved\": ", Summary(moved), ", \"others\": ", Summary(others), "}");
  }

  static std::string Summary(const std::vector<double>& waits) {
    if (waits.empty()) return "null";
    return absl::StrCat("{\"calls\": ", waits.size(), ", \"p99.9\": ", Percentile(waits, 99.9),
                        ", \"longest\": ", Percentile(waits, 100), "}");
  }

  const ServedJob served_;
  const ParameterMap map_;
  EventLoop loop_;
  Channel chief_;
  PsClient client_;
  InputLines lines_;
  Crew pulls_;
  Crew pushes_;
};

}  // namespace

void RunProbes(const std::string& folder, const std::string& address, bool pushes) {
  Probes(folder, address, pushes).Run();
}

}  // namespace capstan::bench
