// One GET of plain HTTP, for pages such as /metrics.
#ifndef CAPSTAN_CLI_HTTP_GET_H_
#define CAPSTAN_CLI_HTTP_GET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan::cli {

struct Page {
  std::string host;
  int port = 80;
  std::string path = "/";
};

// The body of an answer of 200, at most 64 MiB. UNAVAILABLE: nobody listens there.
// DEADLINE_EXCEEDED: not all of it came within `timeout`. FAILED_PRECONDITION: another answer.
absl::StatusOr<std::string> HttpGet(const Page& page, absl::Duration timeout);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_HTTP_GET_H_
