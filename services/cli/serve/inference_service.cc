#include "cli/serve/inference_service.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/clock.h"
#include "capstan/base/quote.h"
#include "capstan/base/version.h"
#include "capstan/metrics/buckets.h"
#include "capstan/metrics/declaration.h"
#include "capstan/metrics/process_metrics.h"

namespace capstan::cli {
namespace {

constexpr metrics::CounterDeclaration kServeRequests = {
    .name = "capstan_serve_requests_total",
    .help = "Requests answered, by HTTP status.",
    .labels = "code",
    .normal = "200; 5xx below a twentieth"};

constexpr metrics::CounterDeclaration kServeRecords = {
    .name = "capstan_serve_records_total", .help = "Records scored.", .normal = "grows"};

constexpr metrics::HistogramDeclaration kServeRequestDurationSeconds = {
    .name = "capstan_serve_request_duration_seconds",
    .help = "Time to answer a request for scores.",
    .normal = "steady"};

HttpAnswer Refusal(int status, const std::string& error) {
  return {.status = status, .body = ErrorResponse(error)};
}

// Returns the HTTP status for the error of a request.
int HttpStatusOf(const absl::Status& error) {
  if (absl::IsInvalidArgument(error)) return 400;
  if (absl::IsUnavailable(error)) return 503;
  return absl::IsDeadlineExceeded(error) ? 504 : 500;
}

std::string TensorText(const std::string& name, const char* datatype, size_t width) {
  return absl::StrCat("{\"name\":", Quoted(name), ",\"datatype\":\"", datatype, "\",\"shape\":[-1",
                      width == 1 ? "" : absl::StrCat(",", width), "]}");
}

}  // namespace

InferenceService::InferenceService(std::string name)
    : name_(std::move(name)),
      records_(registry_.AddCounter(kServeRecords)),
      seconds_(registry_.AddHistogram(kServeRequestDurationSeconds, metrics::DurationBuckets())) {
  metrics::AddBuildInfo(registry_);
  metrics::AddProcessMetrics(registry_);
}

void InferenceService::Replace(std::shared_ptr<ServedModel> model) {
  absl::MutexLock lock(&mu_);
  model_ = std::move(model);
}

std::shared_ptr<ServedModel> InferenceService::model() const {
  absl::MutexLock lock(&mu_);
  return model_;
}

void InferenceService::Leave() {
  absl::MutexLock lock(&mu_);
  leaves_ = true;
}

bool InferenceService::IsReady() const {
  absl::MutexLock lock(&mu_);
  return model_ != nullptr && !leaves_ && model_->ready();
}

HttpAnswer InferenceService::AnswerOfHealth(const HttpQuestion& question) const {
  if (question.method != "GET") return Refusal(405, "only GET is answered here");
  if (question.path == "/v2/health/live") return {.body = "{\"live\":true}"};
  if (question.path != "/v2/health/ready") return Refusal(404, "there is nothing here");
  const bool ready = IsReady();
  return {.status = ready ? 200 : 503,
          .body = absl::StrCat("{\"ready\":", ready ? "true" : "false", "}")};
}

HttpAnswer InferenceService::Answer(const HttpQuestion& question) {
  HttpAnswer answer = Route(question);
  registry_.AddCounter(kServeRequests, {{"code", absl::StrCat(answer.status)}}).Add();
  return answer;
}

HttpAnswer InferenceService::Route(const HttpQuestion& question) {
  const absl::string_view path = question.path;
  const std::string model_path = absl::StrCat("/v2/models/", name_);
  if (path == model_path || absl::StartsWith(path, model_path + "/")) {
    return OfModel(question, std::string_view(question.path).substr(model_path.size()));
  }
  if (absl::StartsWith(path, "/v2/models/")) {
    return Refusal(404, absl::StrCat("this server has the model ", name_, " alone"));
  }
  if (question.method != "GET") {
    return Refusal(405,
                   absl::StrCat("only scores are asked for by POST, at ", model_path, "/infer"));
  }
  if (absl::StartsWith(path, "/v2/health/")) return AnswerOfHealth(question);
  if (path == "/metrics") return {.body = registry_.Text(), .content_type = "text/plain"};
  if (path == "/v2") {
    return {.body = absl::StrCat("{\"name\":\"capstan\",\"version\":", Quoted(Version()),
                                 ",\"extensions\":[]}")};
  }
  return Refusal(404, absl::StrCat("there is nothing here; the model is at ", model_path));
}

// A version is the name of a checkpoint. Only the version that is served exists.
HttpAnswer InferenceService::OfModel(const HttpQuestion& question, std::string_view rest) {
  const std::shared_ptr<ServedModel> model = this->model();
  if (model == nullptr) return Refusal(503, "there is no version of this model yet");
  std::vector<std::string> words = absl::StrSplit(AbslView(rest), '/', absl::SkipEmpty());
  if (words.size() >= 2 && words[0] == "versions") {
    if (words[1] != model->version()) {
      return Refusal(404, absl::StrCat("version ", Quoted(words[1]), " is not served; it is ",
                                       model->version()));
    }
    words.erase(words.begin(), words.begin() + 2);
  }
  const std::string what = absl::StrJoin(words, "/");
  if (what == "infer") {
    return question.method == "POST" ? Infer(*model, question.body)
                                     : Refusal(405, "scores are asked for by POST");
  }
  if (question.method != "GET") return Refusal(405, "only scores are asked for by POST");
  if (what.empty()) return {.body = Describe(*model)};
  if (what == "ready") {
    const bool ready = IsReady();
    return {.status = ready ? 200 : 503,
            .body = absl::StrCat("{\"name\":", Quoted(name_),
                                 ",\"ready\":", ready ? "true" : "false", "}")};
  }
  return Refusal(404, absl::StrCat("a model has no ", Quoted(what), "; expected infer or ready"));
}

HttpAnswer InferenceService::Infer(ServedModel& model, const std::string& body) {
  const absl::Time began = SteadyClock().Now();
  const absl::StatusOr<InferRequest> request = ParseInferRequest(body);
  if (!request.ok()) return Refusal(400, std::string(request.status().message()));
  const absl::StatusOr<ServedModel::Answer> answer = model.Infer(*request);
  if (!answer.ok()) {
    return Refusal(HttpStatusOf(answer.status()), std::string(answer.status().message()));
  }
  records_.Add(static_cast<double>(answer->rows));
  HttpAnswer response = {
      .body = InferResponse(name_, model.version(), request->id, answer->rows, answer->outputs)};
  seconds_.Observe(absl::ToDoubleSeconds(SteadyClock().Now() - began));
  return response;
}

std::string InferenceService::Describe(const ServedModel& model) const {
  const auto input = [](std::string* out, const ServedInputs::Input& of) {
    out->append(TensorText(of.name, of.datatype.c_str(), of.width));
  };
  const auto output = [](std::string* out, const InferOutput& of) {
    out->append(TensorText(of.name, "FP32", of.columns));
  };
  return absl::StrCat("{\"name\":", Quoted(name_), ",\"versions\":[", Quoted(model.version()),
                      "],\"platform\":\"capstan\",\"inputs\":[",
                      absl::StrJoin(model.inputs().inputs(), ",", input), "],\"outputs\":[",
                      absl::StrJoin(model.outputs(), ",", output), "]}");
}

}  // namespace capstan::cli
