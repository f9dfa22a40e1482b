// Access to the ChiefMachine for those who pass events from outside.
#ifndef CAPSTAN_CHIEF_SHELL_MACHINE_ACCESS_H_
#define CAPSTAN_CHIEF_SHELL_MACHINE_ACCESS_H_

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "chief/duties/chief_machine.h"

namespace capstan::chief {

// Implementations are thread-safe: events may come from any thread, and are handled one at a time.
class MachineAccess {
 public:
  virtual ~MachineAccess() = default;

  // Calls `event(machine, now)`, has the machine's actions carried out, and returns the result of
  // the call, if it has one.
  template <typename Event>
  auto Run(Event event) {
    using Result = std::invoke_result_t<Event&, ChiefMachine&, absl::Time>;
    if constexpr (std::is_void_v<Result>) {
      Do(event);
    } else {
      std::optional<Result> result;
      Do([&](ChiefMachine& machine, absl::Time now) { result.emplace(event(machine, now)); });
      return *std::move(result);
    }
  }

  v1::GetStatusReply Status() {
    return Run([](const ChiefMachine& chief, absl::Time now) { return chief.Status(now); });
  }

  // Asks for a checkpoint. `done` gets its folder or an error, on another thread or within this
  // call.
  using OnCheckpoint = absl::AnyInvocable<void(const absl::StatusOr<std::string>&)>;
  virtual void TakeCheckpoint(OnCheckpoint done) = 0;

 private:
  virtual void Do(absl::FunctionRef<void(ChiefMachine&, absl::Time)> event) = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_MACHINE_ACCESS_H_
