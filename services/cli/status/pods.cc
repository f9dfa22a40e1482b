#include "cli/status/pods.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <climits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/quote.h"

namespace capstan::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr size_t kMostMessage = 300;

// Returns the value at a path such as "status/phase"; null: there is none.
const Value* At(const Value& value, std::string_view path) {
  const Value* at = &value;
  for (absl::string_view key : absl::StrSplit(absl::string_view(path.data(), path.size()), '/')) {
    const auto& fields = at->struct_value().fields();
    const auto field = fields.find(std::string(key));
    if (field == fields.end()) return nullptr;
    at = &field->second;
  }
  return at;
}

std::string TextAt(const Value& value, std::string_view path) {
  const Value* at = At(value, path);
  return at == nullptr ? "" : at->string_value();
}

// Returns a whole number of at most 32 bits, as exit codes and counts are.
int NumberAt(const Value& value, std::string_view path) {
  const Value* at = At(value, path);
  if (at == nullptr) return 0;
  return static_cast<int>(std::clamp<double>(at->number_value(), INT_MIN, INT_MAX));
}

std::vector<Value> ListAt(const Value& value, std::string_view path) {
  const Value* at = At(value, path);
  if (at == nullptr) return {};
  return {at->list_value().values().begin(), at->list_value().values().end()};
}

// Returns ": " and the last line of `what`, not too long, or nothing if `what` is empty. In a log
// the last line has the reason.
std::string Behind(const std::string& what) {
  std::vector<std::string> lines = absl::StrSplit(what, '\n', absl::SkipWhitespace());
  if (lines.empty()) return "";
  return absl::StrCat(": ", FirstBytes(lines.back(), kMostMessage));
}

// Returns the memory limit of a container, as the pod's spec has it.
std::string MemoryLimit(const Value& pod, const std::string& container) {
  for (const Value& one : ListAt(pod, "spec/containers")) {
    if (TextAt(one, "name") == container) return TextAt(one, "resources/limits/memory");
  }
  return "";
}

// Returns how a container has ended; empty: it ended well.
std::string Ended(const Value& pod, const std::string& container, const Value& terminated) {
  const std::string at = TextAt(terminated, "finishedAt");
  const std::string when = at.empty() ? "" : absl::StrCat(" at ", at);
  if (TextAt(terminated, "reason") == "OOMKilled") {
    const std::string limit = MemoryLimit(pod, container);
    return absl::StrCat("was killed for its memory (OOMKilled)", when,
                        limit.empty() ? "" : absl::StrCat("; its limit is ", limit));
  }
  const int code = NumberAt(terminated, "exitCode");
  if (code == 0) return "";
  return absl::StrCat("ended with exit code ", code, when, Behind(TextAt(terminated, "message")));
}

// Returns the present or past problem of a container; empty: there is none.
std::string Trouble(const Value& pod, const Value& container) {
  const std::string name = TextAt(container, "name");
  std::string before;
  if (const Value* last = At(container, "lastState/terminated")) before = Ended(pod, name, *last);
  if (const Value* ended = At(container, "state/terminated")) return Ended(pod, name, *ended);
  const std::string reason = TextAt(container, "state/waiting/reason");
  const bool comes_up = reason == "ContainerCreating" || reason == "PodInitializing";
  if (reason.empty() || comes_up) {
    if (before.empty()) return "";
    return absl::StrCat(before, ", and was started again (", NumberAt(container, "restartCount"),
                        " so far)");
  }
  if (reason == "CrashLoopBackOff") {
    return absl::StrCat("ends again and again (CrashLoopBackOff)",
                        before.empty() ? "" : absl::StrCat(": the last time it ", before));
  }
  return absl::StrCat("cannot start (", reason, ")",
                      Behind(TextAt(container, "state/waiting/message")));
}

std::string Trouble(const Value& pod) {
  if (TextAt(pod, "status/phase") == "Failed" && !TextAt(pod, "status/reason").empty()) {
    return absl::StrCat("has failed (", TextAt(pod, "status/reason"), ")",
                        Behind(TextAt(pod, "status/message")));
  }
  for (const Value& condition : ListAt(pod, "status/conditions")) {
    if (TextAt(condition, "type") == "PodScheduled" && TextAt(condition, "status") == "False") {
      return absl::StrCat("is Pending, for no node takes it", Behind(TextAt(condition, "message")));
    }
  }
  for (const char* kind : {"status/initContainerStatuses", "status/containerStatuses"}) {
    for (const Value& container : ListAt(pod, kind)) {
      if (std::string trouble = Trouble(pod, container); !trouble.empty()) return trouble;
    }
  }
  return "";
}

// Returns the role of an item. At() cannot find its label, as the label's name has a slash.
std::string RoleOf(const Value& item) {
  const Value* labels = At(item, "metadata/labels");
  if (labels == nullptr) return "";
  const auto& fields = labels->struct_value().fields();
  const auto role = fields.find("app.kubernetes.io/component");
  return role == fields.end() ? "" : role->second.string_value();
}

// Returns why a Deployment cannot have pods that it wants; empty: it can. A quota is one reason.
std::string NoPods(const Value& deployment) {
  for (const Value& condition : ListAt(deployment, "status/conditions")) {
    if (TextAt(condition, "type") == "ReplicaFailure" && TextAt(condition, "status") == "True") {
      return absl::StrCat("wants pods that cannot be made", Behind(TextAt(condition, "message")));
    }
  }
  return "";
}

bool Runs(const Value& pod, const std::string& container) {
  if (At(pod, "metadata/deletionTimestamp") != nullptr) return false;
  for (const Value& one : ListAt(pod, "status/containerStatuses")) {
    if (TextAt(one, "name") == container) return At(one, "state/running") != nullptr;
  }
  return false;
}

}  // namespace

absl::StatusOr<ReleasePods> ReadReleasePods(std::string_view json) {
  Value answer;
  const auto read = google::protobuf::util::JsonStringToMessage(std::string(json), &answer);
  if (!read.ok() || At(answer, "items") == nullptr) {
    return absl::DataLossError("what kubectl says of the pods is not a list in JSON");
  }
  ReleasePods pods;
  for (const Value& item : ListAt(answer, "items")) {
    const std::string role = RoleOf(item);
    if (TextAt(item, "kind") == "StatefulSet") pods.has_chief |= role == "chief";
    const std::string name = TextAt(item, "metadata/name");
    if (TextAt(item, "kind") == "Deployment" && role == "worker") {
      if (const std::string trouble = NoPods(item); !trouble.empty()) {
        pods.troubles.push_back(absl::StrCat(name, " ", trouble));
      }
    }
    if (TextAt(item, "kind") != "Pod") continue;
    if (role == "chief") {
      pods.chief = name;
      pods.chief_runs = Runs(item, "chief");
    }
    // Pods that wait for the end of the job, and those of tests, may end: that is no problem of the
    // job.
    if (role != "chief" && role != "ps" && role != "worker") continue;
    if (const std::string trouble = Trouble(item); !trouble.empty()) {
      pods.troubles.push_back(absl::StrCat(name, " ", trouble));
    }
  }
  return pods;
}

}  // namespace capstan::cli
