// A crew's machine as the chief's door reaches it: without threads, and with the crew's time.
#ifndef CAPSTAN_TESTS_UNIT_CHIEF_CREW_ACCESS_H_
#define CAPSTAN_TESTS_UNIT_CHIEF_CREW_ACCESS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/shell/machine_access.h"
#include "chief/shell/view_feed.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {

// Not thread-safe.
class CrewAccess final : public MachineAccess {
 public:
  // Publishes the machine's views in `feed`. Both must outlive this object.
  CrewAccess(Crew& crew, ViewFeed& feed) : crew_(crew), feed_(feed) { CatchUp(); }

  void TakeCheckpoint(OnCheckpoint done) override {
    askers_[++last_asker_] = std::move(done);
    Run([this](ChiefMachine& chief, absl::Time now) { chief.TakeCheckpoint(last_asker_, now); });
  }

  // Carries out what the crew's machine has asked for meanwhile.
  void CatchUp() {
    for (; views_ < crew_.views.size(); ++views_) feed_.Publish(crew_.views[views_]);
    for (; answers_ < crew_.checkpoint_answers.size(); ++answers_) {
      const AnswerCheckpoint& answer = crew_.checkpoint_answers[answers_];
      const auto asker = askers_.find(answer.asker);
      if (asker == askers_.end()) continue;
      asker->second(answer.uri);
      askers_.erase(asker);
    }
  }

  // As ControlLoop::AnswerAskers.
  void AnswerAskers() {
    for (auto& [asker, done] : std::exchange(askers_, {})) done(absl::UnavailableError("the end"));
  }

 private:
  void Do(absl::FunctionRef<void(ChiefMachine&, absl::Time)> event) override {
    event(crew_.machine, crew_.now);
    crew_.AnswerCalls();
    CatchUp();
  }

  Crew& crew_;
  ViewFeed& feed_;
  size_t views_ = 0;    // How many of the crew's views have been published,
  size_t answers_ = 0;  // and how many of its answers given.
  std::map<uint64_t, OnCheckpoint> askers_;
  uint64_t last_asker_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_UNIT_CHIEF_CREW_ACCESS_H_
