// A world for S3 clients in which answers are scripted, requests are remembered, and pauses pass at
// once.
#ifndef CAPSTAN_TESTS_UNIT_OBJECTSTORE_S3_SCRIPTED_WORLD_H_
#define CAPSTAN_TESTS_UNIT_OBJECTSTORE_S3_SCRIPTED_WORLD_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "gtest/gtest.h"

namespace capstan {

// Answers in the order of the script; what comes behind it is answered by `otherwise`. A request as
// it was sent, with a copy of its body. Thread-compatible.
class ScriptedHttp : public Http {
 public:
  using Answer = absl::StatusOr<HttpResponse>;
  using Handler = std::function<Answer(const HttpRequest&)>;

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    requests.push_back(request);
    bodies.emplace_back(request.body);
    if (script.empty()) return otherwise(request);
    const Handler handler = std::move(script.front());
    script.pop_front();
    return handler(request);
  }

  void Then(Answer answer) {
    script.push_back([answer = std::move(answer)](const HttpRequest&) { return answer; });
  }
  void Then(int status, std::string body = "", HttpHeaders headers = {}) {
    Then(HttpResponse{.status = status, .headers = std::move(headers), .body = std::move(body)});
  }
  void ThenError(int status, const std::string& code, HttpHeaders headers = {}) {
    Then(status, absl::StrCat("<Error><Code>", code, "</Code></Error>"), std::move(headers));
  }

  std::string Header(size_t request, const std::string& name) const {
    return std::string(HttpResponse{.headers = requests.at(request).headers}.Header(name));
  }

  std::deque<Handler> script;
  Handler otherwise = [](const HttpRequest& request) -> Answer {
    ADD_FAILURE() << "not expected: " << request.method << " " << request.url;
    return absl::InternalError("not expected");
  };
  std::vector<HttpRequest> requests;
  std::vector<std::string> bodies;
};

struct ScriptedWorld {
  ScriptedHttp http;
  FakeClock clock;
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  std::vector<absl::Duration> pauses;
  S3Options options = {.endpoint = "https://s3.test",
                       .access_key = "AccessKey",
                       .secret_key = "Secret/Key",
                       .session_token = "SessionToken"};

  S3World World() {
    return {.http = http,
            .clock = clock,
            .now = [this] { return now; },
            .sleep =
                [this](absl::Duration pause) {
                  pauses.push_back(pause);
                  clock.Advance(pause);
                },
            .unit = [] { return 0.5; }};
  }

  std::unique_ptr<ObjectStore> Open() {
    return *OpenS3ObjectStore({"ads", "ctr"}, options, World());
  }
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_OBJECTSTORE_S3_SCRIPTED_WORLD_H_
