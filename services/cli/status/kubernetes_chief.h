// The chief of a Helm release, asked in its pod: a `capstan status --answer-lines` there answers
// each question, and ends when none comes any more.
#ifndef CAPSTAN_CLI_STATUS_KUBERNETES_CHIEF_H_
#define CAPSTAN_CLI_STATUS_KUBERNETES_CHIEF_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/status/kubectl.h"
#include "cli/status/pods.h"
#include "cli/status/status_source.h"

namespace capstan::cli {

// Thread-compatible.
class KubernetesChief : public StatusSource {
 public:
  explicit KubernetesChief(KubernetesJob job) : job_(std::move(job)) {}

  // NOT_FOUND: no kubectl, or no such release. UNAVAILABLE: the chief's pod cannot be asked; the
  // message says what Kubernetes says of the pods.
  absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration timeout) override;

  // What Kubernetes says of the pods, as of now.
  absl::StatusOr<ReleasePods> Pods() const;

 private:
  absl::Status Connect();
  absl::StatusOr<v1::GetStatusReply> Ask(absl::Duration timeout);

  const KubernetesJob job_;
  std::optional<Kubectl> exec_;
  int unanswered_ = 0;  // Questions; their answers come before that to the next one.
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KUBERNETES_CHIEF_H_
