// Asks the chief of a Helm release in its pod: `capstan status --answer-lines` runs there, answers
// each question, and ends when no more questions arrive.
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

  // NOT_FOUND: there is no kubectl, or no such release. UNAVAILABLE: the chief's pod cannot be
  // asked; the message says what Kubernetes reports of the pods.
  absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration timeout) override;

  // Returns what Kubernetes reports of the pods now.
  absl::StatusOr<ReleasePods> Pods() const;

 private:
  absl::StatusOr<std::string> List(const std::string& kinds) const;
  absl::Status Connect();
  absl::StatusOr<v1::GetStatusReply> Ask(absl::Duration timeout);

  const KubernetesJob job_;
  std::optional<Kubectl> exec_;
  // Questions without an answer so far. Their answers arrive before that to the next question.
  int unanswered_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KUBERNETES_CHIEF_H_
