// Answers requests at the paths of the Open Inference Protocol (KServe's V2).
#ifndef CAPSTAN_CLI_SERVE_INFERENCE_SERVICE_H_
#define CAPSTAN_CLI_SERVE_INFERENCE_SERVICE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/http/http_server.h"
#include "capstan/metrics/registry.h"
#include "cli/serve/served_model.h"

namespace capstan::cli {

// Answers with the model that was last given to Replace; requests under way keep the model that
// they began with. Before the first model the service is alive but not ready, and answers 503.
// Thread-safe.
class InferenceService {
 public:
  explicit InferenceService(std::string name);

  void Replace(std::shared_ptr<ServedModel> model);
  std::shared_ptr<ServedModel> model() const;  // Null before the first Replace.

  HttpAnswer Answer(const HttpQuestion& question);
  // Answers only whether the service is alive and ready. For a separate port, which still answers
  // when all connections for requests are taken.
  HttpAnswer AnswerOfHealth(const HttpQuestion& question) const;

  // From now on the service reports that it is not ready, but still answers, so that clients turn
  // elsewhere before it ends.
  void Leave();

  const metrics::Registry& registry() const { return registry_; }

 private:
  bool IsReady() const;
  HttpAnswer Route(const HttpQuestion& question);
  HttpAnswer OfModel(const HttpQuestion& question, std::string_view rest);
  HttpAnswer Infer(ServedModel& model, const std::string& body);
  std::string Describe(const ServedModel& model) const;

  const std::string name_;
  mutable absl::Mutex mu_;
  std::shared_ptr<ServedModel> model_ ABSL_GUARDED_BY(mu_);
  bool leaves_ ABSL_GUARDED_BY(mu_) = false;
  metrics::Registry registry_;
  metrics::Counter& records_;
  metrics::Histogram& seconds_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_INFERENCE_SERVICE_H_
