#include "chief/shell/refusal.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "capstan/base/quote.h"

namespace capstan::chief {
namespace {

// A message has one line per mistake in a file. It may quote text that is not UTF-8, such as the
// name of a folder that cannot be listed; a status with that could not be parsed.
std::string InOneLine(const absl::Status& why) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(why.message(), '\n', absl::SkipWhitespace());
  std::string line;
  AppendEscaped(line, absl::StrJoin(lines, "; "));
  return line;
}

// Sets empty messages, too, so that a script that reads the status as JSON always finds the same
// fields.
v1::GetStatusReply NotYetLed(const std::string& job) {
  v1::GetStatusReply status;
  status.set_job(job);
  status.set_eta_seconds(-1);
  status.mutable_tasks();
  status.mutable_checkpoint();
  return status;
}

}  // namespace

bool MayPass(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

v1::GetStatusReply RefusedStatus(const std::string& job, const absl::Status& why) {
  v1::GetStatusReply status = NotYetLed(job);
  if (MayPass(why)) {
    status.set_state(v1::JOB_STATE_PENDING);
    status.set_waiting_for(InOneLine(why));
    return status;
  }
  status.set_state(v1::JOB_STATE_FAILED);
  status.set_failure_kind(v1::FAILURE_KIND_BAD_INPUT);
  status.set_reason(InOneLine(why));
  return status;
}

v1::GetStatusReply LookingStatus(const std::string& job) {
  v1::GetStatusReply status = NotYetLed(job);
  status.set_state(v1::JOB_STATE_PENDING);
  status.set_waiting_for("the chief, which reads the job's file, its data and its store");
  return status;
}

v1::GetStatusReply ModelWantedStatus(const std::string& job) {
  v1::GetStatusReply status = NotYetLed(job);
  status.set_state(v1::JOB_STATE_PENDING);
  status.set_waiting_for("the model, which the first worker declares");
  return status;
}

v1::GetStatusReply LookingStatus(const std::string& job, size_t done, size_t files) {
  v1::GetStatusReply status = LookingStatus(job);
  status.set_waiting_for(
      absl::StrCat("the chief, which cuts the data into tasks: ", done, " of ", files, " files"));
  return status;
}

}  // namespace capstan::chief
