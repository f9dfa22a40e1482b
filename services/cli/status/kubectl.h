// A job on Kubernetes, reached through kubectl.
#ifndef CAPSTAN_CLI_STATUS_KUBECTL_H_
#define CAPSTAN_CLI_STATUS_KUBECTL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan::cli {

struct KubernetesJob {
  std::string release;         // The name of the release of Helm.
  std::string kube_namespace;  // Empty: that of kubectl's context.
};

// kubectl at work, with pipes to its standard input and output. It ends with this object at the
// latest; where this process is killed, the end of its input is what ends it, and what it runs in a
// pod. Thread-compatible.
class Kubectl {
 public:
  // `kubectl [--namespace N] <words>`. NOT_FOUND: there is no kubectl.
  static absl::StatusOr<Kubectl> Start(const KubernetesJob& job, std::vector<std::string> words);
  Kubectl(Kubectl&& other) noexcept;
  Kubectl& operator=(Kubectl&& other) noexcept;
  ~Kubectl();

  // False: it does not read any more.
  bool Write(const std::string& text);

  // The next line of its output, without its end. OUT_OF_RANGE: there is none, it has ended.
  // DEADLINE_EXCEEDED: none has come yet; what has come of it is kept for the next call.
  absl::StatusOr<std::string> ReadLine(absl::Duration timeout);

  // Its whole output, once it has ended. UNAVAILABLE, with what it says: it has failed.
  absl::StatusOr<std::string> ReadAll(absl::Duration timeout);

  // What it has said on standard error, the last line of it; to be called once it has ended.
  std::string Complaint();

 private:
  Kubectl() = default;
  bool Fill(absl::Time deadline);  // False: the end of the output, or the deadline.
  int Wait();

  int pid_ = -1;  // -1: it has been waited for.
  int ending_ = 0;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;  // A file in memory.
  bool at_end_ = false;
  std::string read_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_KUBECTL_H_
