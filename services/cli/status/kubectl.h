// Runs kubectl, to reach a job on Kubernetes.
#ifndef CAPSTAN_CLI_STATUS_KUBECTL_H_
#define CAPSTAN_CLI_STATUS_KUBECTL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan::cli {

struct KubernetesJob {
  std::string release;         // The name of the release of Helm.
  std::string kube_namespace;  // Empty: the namespace of kubectl's context.
};

// A running kubectl, with pipes to its standard input and output. The destructor ends it. If this
// process is killed, the end of its input ends kubectl, and the command that it runs in a pod.
// Thread-compatible.
class Kubectl {
 public:
  // Starts `kubectl [--namespace N] <words>`. NOT_FOUND: there is no kubectl.
  static absl::StatusOr<Kubectl> Start(const KubernetesJob& job, std::vector<std::string> words);
  Kubectl(Kubectl&& other) noexcept;
  Kubectl& operator=(Kubectl&& other) noexcept;
  ~Kubectl();

  // Writes to its standard input. Returns false if kubectl does not read any more.
  bool Write(const std::string& text);

  // Returns the next line of its output, without the line break. OUT_OF_RANGE: the output has
  // ended, or the line is longer than 16 MiB. DEADLINE_EXCEEDED: no whole line has arrived yet; the
  // part that has is kept for the next call.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout);

  // Waits for its end and returns its whole output. UNAVAILABLE: kubectl has failed, with its last
  // error message, or its output is larger than 16 MiB. DEADLINE_EXCEEDED: it writes on.
  absl::StatusOr<std::string> ReadAll(absl::Duration timeout);

  // Returns the last line of its standard error. REQUIRES: kubectl has ended.
  std::string Complaint();

 private:
  Kubectl() = default;
  // Reads more output. Returns false at its end and at the deadline.
  bool Fill(absl::Time deadline);
  // Waits for its end, and ends it at the deadline. Returns how it has ended.
  int Wait(absl::Time deadline);

  int pid_ = -1;  // -1: its end has been waited for.
  int ending_ = 0;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;  // A file in memory.
  bool at_end_ = false;
  std::string read_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KUBECTL_H_
