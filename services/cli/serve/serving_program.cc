#include "cli/serve/serving_program.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "cli/model/exported_model.h"
#include "cli/serve/program_batch.h"

namespace capstan::cli {
namespace {

// The time to import libraries and build the model.
constexpr absl::Duration kStart = absl::Minutes(5);
// The time for a process to end after its socket is closed.
constexpr absl::Duration kEnd = absl::Seconds(1);

// Returns why there are no logits, of which `wanted` bytes were asked for.
absl::Status NoLogits(const absl::StatusOr<ProgramMessage>& answer, size_t wanted,
                      absl::Duration patience) {
  if (absl::IsDeadlineExceeded(answer.status())) {
    return absl::DeadlineExceededError(absl::StrCat("the program has not answered for ",
                                                    absl::FormatDuration(patience),
                                                    ", and is started again"));
  }
  if (answer.ok() && answer->kind == MessageKind::kLogits && answer->parts.size() == 1) {
    return absl::UnavailableError(absl::StrCat("the program has answered this request with ",
                                               answer->parts[0].size(), " bytes of logits, not ",
                                               wanted, ", and is started again"));
  }
  if (answer.ok() || absl::IsInternal(answer.status())) {
    return absl::UnavailableError(
        "the program has answered this request with what are no logits, and is started again");
  }
  return absl::UnavailableError("the program has ended with this request, and is started again");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServingProgram>> ServingProgram::Start(
    const std::string& command, const FinishedModel& model, const absl::Notification& cancel) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  auto socket = std::make_unique<ProgramSocket>(ends[0]);
  absl::StatusOr<Process> process =
      Process::Start({.argv = {"/usr/bin/env", absl::StrCat("CAPSTAN_SERVE=", ends[1]), "/bin/sh",
                               "-c", absl::StrCat("exec ", command)},
                      .inherited = ends[1]});
  // This end is then open only in the program, so the connection ends with the program.
  close(ends[1]);
  CAPSTAN_RETURN_IF_ERROR(process.status());
  std::unique_ptr<ServingProgram> program(
      new ServingProgram(model, std::move(socket), *std::move(process)));
  CAPSTAN_RETURN_IF_ERROR(program->GiveModel(cancel));
  return program;
}

absl::Status ServingProgram::GiveModel(const absl::Notification& cancel) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string job, JobAsJson(model_.job()));
  const auto parameters = std::as_bytes(model_.parameters());
  const std::string_view parts[] = {
      job, {reinterpret_cast<const char*>(parameters.data()), parameters.size()}};
  const absl::StatusOr<ProgramMessage> answer = socket_->Ask(
      MessageKind::kModel, parts, {.until = SteadyClock().Now() + kStart, .cancel = &cancel});
  if (answer.ok() && answer->kind == MessageKind::kReady) return absl::OkStatus();
  if (answer.ok() && answer->kind == MessageKind::kFailed && answer->parts.size() == 1) {
    return absl::FailedPreconditionError(answer->parts[0]);
  }
  if (absl::IsCancelled(answer.status())) return answer.status();
  if (absl::IsDeadlineExceeded(answer.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the program had not taken the model after ", absl::FormatDuration(kStart)));
  }
  if (answer.ok() || absl::IsInternal(answer.status())) {
    return absl::FailedPreconditionError("the program's answer to the model is malformed");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the program ", HowItEnded(), " before it had the model; its output says why"));
}

absl::StatusOr<std::vector<float>> ServingProgram::Logits(const Batch& batch,
                                                          absl::Duration patience) {
  const ProgramBatch asked(model_, batch);
  const absl::StatusOr<ProgramMessage> answer =
      socket_->Ask(MessageKind::kBatch, asked.parts(), {.until = SteadyClock().Now() + patience});
  if (answer.ok() && answer->kind == MessageKind::kFailed && answer->parts.size() == 1) {
    return absl::InternalError(answer->parts[0]);
  }
  std::vector<float> logits(batch.examples() * model_.job().model().outputs());
  if (answer.ok() && answer->kind == MessageKind::kLogits && answer->parts.size() == 1 &&
      answer->parts[0].size() == logits.size() * sizeof(float)) {
    std::memcpy(logits.data(), answer->parts[0].data(), answer->parts[0].size());
    return logits;
  }
  lost_ = true;
  return NoLogits(answer, logits.size() * sizeof(float), patience);
}

std::string ServingProgram::HowItEnded() {
  const std::optional<Ending> ending = process_.WaitFor(kEnd);
  return ending.has_value() ? absl::StrCat("has ended with ", ending->ToString())
                            : "does not answer";
}

}  // namespace capstan::cli
