// The object store of a simulated world. What stands in it is true at once for everybody; but a
// request takes its time, may fail, may have happened though its answer is lost, and may happen
// long after whoever sent it has given it up or died.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_STORE_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/objectstore/store_opener.h"
#include "tests/simulation/sim/schedule.h"
#include "tests/simulation/sim/threads.h"

namespace capstan::sim {

// How bad the store is. Of every request:
struct StoreWeather {
  double fail = 0;    // It is not carried out.
  double lose = 0;    // It is carried out, and the answer is lost.
  double late = 0;    // It is carried out some seconds after it has been given up.
  double dawdle = 0;  // It takes up to `longest` instead of some milliseconds.
  absl::Duration longest = absl::Seconds(4);
  // What a store does not do.
  bool unconditional = false;  // A write happens whatever its condition says.
  double forget = 0;           // Of every partition: it is gone as soon as it stands.
  double damage = 0;           // Of partitions and manifests: one of its bits is not what it was.
};

// Used by one thread at a time.
class SimStore {
 public:
  // Told of every object that is written, when it stands there.
  using OnWritten = std::function<void(const std::string& key, const std::string& bytes)>;

  // And of every one that is damaged.
  using OnDamaged = std::function<void(const std::string& key)>;

  // `schedule` must outlive the store.
  SimStore(Schedule& schedule, OnWritten on_written, OnDamaged on_damaged);

  // Opens "sim://<folder>" for a process, which waits for answers in its threads. Both must outlive
  // the stores opened. INVALID_ARGUMENT for other addresses.
  StoreOpener OpenerFor(SimThreads& threads) { return OpenerOf(&threads); }

  void SetWeather(const StoreWeather& weather) { weather_ = weather; }
  // Nothing is carried out until then: every request fails after some time.
  void GoAway(absl::Duration length) { away_until_ = schedule_.Now() + length; }
  void Heal();

  // What stands there, at once and without troubles.
  ObjectStore& truth() { return *truth_; }
  StoreOpener TruthOpener() { return OpenerOf(nullptr); }

 private:
  class Client;
  // A request's way. The effect happens `until_effect` after now, if it does; the answer is there
  // `until_answer` after now.
  struct Outcome {
    bool happens = true;
    bool answered = true;
    absl::Duration until_effect;
    absl::Duration until_answer;
  };
  StoreOpener OpenerOf(SimThreads* threads);
  Outcome DrawOutcome();
  // What time does to an object that stands there.
  absl::Status Age(const std::string& key, const std::string& bytes);

  Schedule& schedule_;
  const OnWritten on_written_;
  const OnDamaged on_damaged_;
  const std::unique_ptr<ObjectStore> truth_;
  StoreWeather weather_;
  absl::Time away_until_ = absl::InfinitePast();
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_STORE_H_
