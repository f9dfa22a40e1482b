#include "chief/shell/log_event.h"

#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/log.h"

namespace capstan::chief {
namespace {

void WriteFields(const LogEvent& event, log::Fields fields) {
  switch (event.level) {
    case LogEvent::Level::kInfo:
      return log::Info(event.message, fields);
    case LogEvent::Level::kWarning:
      return log::Warn(event.message, fields);
    case LogEvent::Level::kError:
      return log::Error(event.message, fields);
  }
}

// The log takes its fields as a list whose length is known at compile time.
template <size_t... kIndex>
void WriteExactly(const LogEvent& event, std::index_sequence<kIndex...>) {
  WriteFields(event, {log::Field(event.fields[kIndex].first, event.fields[kIndex].second)...});
}

template <size_t kFields>
void WriteUpTo(const LogEvent& event) {
  if (event.fields.size() == kFields) {
    WriteExactly(event, std::make_index_sequence<kFields>());
  } else if constexpr (kFields > 0) {
    WriteUpTo<kFields - 1>(event);
  }
}

}  // namespace

void WriteLog(const LogEvent& event) {
  CAPSTAN_CHECK(event.fields.size() <= kMaxLogFields);
  WriteUpTo<kMaxLogFields>(event);
}

}  // namespace capstan::chief
