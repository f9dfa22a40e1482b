// The paths of the Open Inference Protocol (KServe's V2) and what is answered at them.
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

// Answers with the model that it was given last; requests under way keep theirs. Before it has any
// it is alive and not ready: 503. Thread-safe.
class InferenceService {
 public:
  explicit InferenceService(std::string name);

  void Replace(std::shared_ptr<ServedModel> model);
  std::shared_ptr<ServedModel> model() const;  // None: it has not been given any.

  HttpAnswer Answer(const HttpQuestion& question);
  // Whether it is alive and ready, and nothing else: for a port of their own, which answers when
  // all connections for requests are taken.
  HttpAnswer AnswerOfHealth(const HttpQuestion& question) const;

  // From now on it is not ready, though it answers: whoever sends requests is to look elsewhere.
  void Leave();

  const metrics::Registry& registry() const { return registry_; }

 private:
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
