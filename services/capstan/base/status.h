// Status macros, which Abseil of Debian 12 lacks. An expected failure is a Status with a message of
// one line, with names and numbers; Capstan throws no exceptions.
#ifndef CAPSTAN_BASE_STATUS_H_
#define CAPSTAN_BASE_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status from the enclosing function unless it is OK.
#define CAPSTAN_RETURN_IF_ERROR(expression)                   \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define CAPSTAN_CONCAT_INNER_(a, b) a##b
#define CAPSTAN_CONCAT_(a, b) CAPSTAN_CONCAT_INNER_(a, b)

// CAPSTAN_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(store, key));
#define CAPSTAN_ASSIGN_OR_RETURN(declaration, expression) \
  CAPSTAN_ASSIGN_OR_RETURN_(CAPSTAN_CONCAT_(status_or_, __LINE__), declaration, expression)
#define CAPSTAN_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).status();             \
  declaration = *std::move(result)

#endif  // CAPSTAN_BASE_STATUS_H_
