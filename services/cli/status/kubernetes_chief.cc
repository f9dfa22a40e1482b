#include "cli/status/kubernetes_chief.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

// How long the API server may take to answer.
constexpr absl::Duration kCluster = absl::Seconds(15);
constexpr absl::Duration kConnection = absl::Seconds(15);

absl::StatusOr<v1::GetStatusReply> ReadAnswer(const std::string& line) {
  // The command in the pod says in words why it has no status.
  if (!absl::StartsWith(line, "{")) return absl::UnavailableError(line);
  v1::GetStatusReply status;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // The chief may be of another version.
  if (!google::protobuf::util::JsonStringToMessage(line, &status, options).ok()) {
    return absl::DataLossError("the chief's pod answers with what is no status");
  }
  return status;
}

}  // namespace

// Returns what the release has of these kinds, as a list in JSON.
absl::StatusOr<std::string> KubernetesChief::List(const std::string& kinds) const {
  CAPSTAN_ASSIGN_OR_RETURN(
      Kubectl get,
      Kubectl::Start(job_, {"get", kinds, "--output=json",
                            absl::StrCat("--selector=app.kubernetes.io/instance=", job_.release)}));
  return get.ReadAll(kCluster);
}

absl::StatusOr<ReleasePods> KubernetesChief::Pods() const {
  absl::StatusOr<std::string> json = List("deployment,statefulset,pod");
  // A Deployment only tells why there are no workers: whoever may not read it does without that.
  if (absl::StrContains(json.status().message(), "(Forbidden)")) json = List("statefulset,pod");
  CAPSTAN_RETURN_IF_ERROR(json.status());
  CAPSTAN_ASSIGN_OR_RETURN(ReleasePods pods, ReadReleasePods(*json));
  if (pods.has_chief) return pods;
  return absl::NotFoundError(
      absl::StrCat("--kubernetes: there is no chief of a release ", job_.release,
                   job_.kube_namespace.empty()
                       ? " in the namespace of kubectl's context; --namespace names another"
                       : absl::StrCat(" in the namespace ", job_.kube_namespace),
                   "; helm list shows them"));
}

absl::Status KubernetesChief::Connect() {
  CAPSTAN_ASSIGN_OR_RETURN(const ReleasePods pods, Pods());
  if (!pods.chief_runs) {
    const std::string what = pods.chief.empty() ? "the chief has no pod at the moment"
                                                : absl::StrCat(pods.chief, " does not run");
    return absl::UnavailableError(
        absl::StrCat(what, pods.troubles.empty() ? "" : ": ", absl::StrJoin(pods.troubles, "; ")));
  }
  CAPSTAN_ASSIGN_OR_RETURN(
      exec_, Kubectl::Start(job_, {"exec", "--stdin", pods.chief, "--container=chief", "--",
                                   "capstan", "status", "--answer-lines"}));
  unanswered_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<v1::GetStatusReply> KubernetesChief::Ask(absl::Duration timeout) {
  if (!exec_->Write("\n")) return absl::OutOfRangeError("it has gone");
  for (++unanswered_;; --unanswered_) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string line, exec_->ReadLine(timeout));
    if (unanswered_ > 1) continue;
    unanswered_ = 0;
    return ReadAnswer(line);
  }
}

absl::StatusOr<v1::GetStatusReply> KubernetesChief::GetStatus(absl::Duration timeout) {
  // The first question takes longer, as kubectl has to get into the pod.
  const bool fresh = !exec_;
  if (fresh) CAPSTAN_RETURN_IF_ERROR(Connect());
  absl::StatusOr<v1::GetStatusReply> status = Ask(fresh ? kConnection : timeout);
  if (!absl::IsOutOfRange(status.status())) return status;
  const absl::StatusOr<std::string> rest = exec_->ReadAll(timeout);
  const std::string complaint =
      rest.ok() ? exec_->Complaint() : std::string(rest.status().message());
  exec_.reset();
  const absl::StatusOr<ReleasePods> pods = Pods();
  const bool says = pods.ok() && !pods->troubles.empty();
  return absl::UnavailableError(absl::StrCat(
      "the chief's pod cannot be asked: ", says ? absl::StrJoin(pods->troubles, "; ") : complaint));
}

}  // namespace capstan::cli
