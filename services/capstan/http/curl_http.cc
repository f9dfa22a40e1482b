#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/http/http.h"

namespace capstan {
namespace {

constexpr size_t kMostIdleHandles = 128;  // As many as a chief that plans a job may have threads.
constexpr size_t kMostHeaderBytes = size_t{64} << 10;
// The most memory that is reserved because of a Content-Length.
constexpr uint64_t kMostReserved = uint64_t{64} << 20;

absl::string_view WithoutQuery(absl::string_view url) { return url.substr(0, url.find('?')); }

// One exchange's state, for libcurl's callbacks.
struct Exchange {
  const HttpRequest& request;
  size_t sent = 0;
  size_t header_bytes = 0;
  bool too_long = false;
  HttpResponse response = {};
};

size_t OnBody(char* bytes, size_t, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  std::string& body = exchange.response.body;
  if (body.size() + count > exchange.request.most_body) {
    exchange.too_long = true;
    return 0;
  }
  if (body.empty()) {
    uint64_t announced = 0;
    const std::string_view length = exchange.response.Header("content-length");
    if (absl::SimpleAtoi(absl::string_view(length.data(), length.size()), &announced)) {
      body.reserve(std::min({announced, exchange.request.most_body, kMostReserved}));
    }
  }
  body.append(bytes, count);
  return count;
}

size_t OnHeader(char* bytes, size_t, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.header_bytes += count;
  if (exchange.header_bytes > kMostHeaderBytes) return 0;
  const absl::string_view line(bytes, count);
  if (absl::StartsWith(line, "HTTP/")) exchange.response.headers.clear();  // After "100 Continue".
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return count;
  exchange.response.headers.emplace_back(
      absl::AsciiStrToLower(line.substr(0, colon)),
      std::string(absl::StripAsciiWhitespace(line.substr(colon + 1))));
  return count;
}

size_t OnSend(char* buffer, size_t, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view rest = exchange.request.body.substr(exchange.sent);
  const size_t taken = std::min(count, rest.size());
  std::memcpy(buffer, rest.data(), taken);
  exchange.sent += taken;
  return taken;
}

// Called about once a second, and whenever bytes are transferred.
int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::atomic<bool>* cancelled = static_cast<Exchange*>(user)->request.cancelled;
  return cancelled != nullptr && cancelled->load() ? 1 : 0;
}

// libcurl sends the body again if a kept connection turns out to be closed.
int OnRewind(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Exchange*>(user)->sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// Returns the operating system's error if libcurl could not connect. For other failures libcurl may
// still have the error of an earlier call, so it is not used.
std::string WhyNotConnected(CURLcode code, CURL* handle) {
  long error = 0;
  if (code == CURLE_COULDNT_CONNECT) curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  return error == 0 ? "" : absl::StrCat(": ", std::strerror(static_cast<int>(error)));
}

absl::Status CurlStatus(CURLcode code, CURL* handle, const HttpRequest& request) {
  const absl::string_view where = WithoutQuery(request.url);
  const std::string message = absl::StrCat(request.method, " ", where, ": ",
                                           curl_easy_strerror(code), WhyNotConnected(code, handle));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(message);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return absl::FailedPreconditionError(message);
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::FailedPreconditionError(
          absl::StrCat(request.method, " ", where, ": only https:// is allowed"));
    case CURLE_ABORTED_BY_CALLBACK:
      return absl::CancelledError(message);
    case CURLE_URL_MALFORMAT:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// Returns a timeout in libcurl's form: in milliseconds, where zero means no limit.
long WholeTimeout(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return 0;
  return static_cast<long>(std::max<int64_t>(1, absl::ToInt64Milliseconds(timeout)));
}

class CurlHttp : public Http {
 public:
  explicit CurlHttp(const CurlOptions& options) : options_(options) {
    static absl::once_flag once;
    absl::call_once(once, [] { CAPSTAN_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
  }
  ~CurlHttp() override {
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
  }

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    CURL* handle = Take();
    const absl::Cleanup give_back = [&] { GiveBack(handle); };
    Exchange exchange{.request = request};
    curl_slist* headers = nullptr;
    const absl::Cleanup free_headers = [&] { curl_slist_free_all(headers); };
    for (const auto& [name, value] : request.headers) {
      const bool empty = value.empty();  // "name;" is libcurl's way to send an empty value.
      headers = curl_slist_append(headers, absl::StrCat(name, empty ? ";" : ": ", value).c_str());
    }
    headers = curl_slist_append(headers, "Expect:");
    Prepare(handle, headers, exchange);
    const CURLcode code = curl_easy_perform(handle);
    if (exchange.too_long) {
      return absl::ResourceExhaustedError(
          absl::StrCat(request.method, " ", WithoutQuery(request.url), ": an answer of more than ",
                       request.most_body, " bytes"));
    }
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    exchange.response.status = static_cast<int>(status);
    if (code == CURLE_OK) return std::move(exchange.response);
    if (request.partial != nullptr) *request.partial = std::move(exchange.response);
    return CurlStatus(code, handle, request);
  }

 private:
  CURL* Take() {
    {
      absl::MutexLock lock(&mu_);
      if (!idle_.empty()) {
        CURL* handle = idle_.back();
        idle_.pop_back();
        return handle;
      }
    }
    CURL* handle = curl_easy_init();
    CAPSTAN_CHECK(handle != nullptr);
    return handle;
  }

  void GiveBack(CURL* handle) {
    curl_easy_reset(handle);  // This keeps the handle's connections.
    {
      absl::MutexLock lock(&mu_);
      if (idle_.size() < kMostIdleHandles) {
        idle_.push_back(handle);
        return;
      }
    }
    curl_easy_cleanup(handle);
  }

  void Prepare(CURL* handle, curl_slist* headers, Exchange& exchange) const;
  static void PrepareBody(CURL* handle, Exchange& exchange);

  const CurlOptions options_;
  absl::Mutex mu_;
  std::vector<CURL*> idle_ ABSL_GUARDED_BY(mu_);
};

void CurlHttp::Prepare(CURL* handle, curl_slist* headers, Exchange& exchange) const {
  const HttpRequest& request = exchange.request;
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, options_.allow_http ? "http,https" : "https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options_.connect_timeout)));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, WholeTimeout(request.timeout));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(absl::ToInt64Seconds(options_.stall_timeout)));
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, options_.ca_file.c_str());
  }
  if (request.direct) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &exchange);
  PrepareBody(handle, exchange);
}

void CurlHttp::PrepareBody(CURL* handle, Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (request.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST" || request.method == "PATCH") {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, OnSend);
    curl_easy_setopt(handle, CURLOPT_READDATA, &exchange);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, OnRewind);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, &exchange);
  }
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

}  // namespace

std::string_view HttpResponse::Header(std::string_view name) const {
  for (const auto& [present, value] : headers) {
    if (present == name) return value;
  }
  return {};
}

std::unique_ptr<Http> NewCurlHttp(const CurlOptions& options) {
  return std::make_unique<CurlHttp>(options);
}

}  // namespace capstan
