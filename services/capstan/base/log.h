// The log of a process: one line for each event, on stderr, as text for people or as JSON for
// machines.
//
//   log::Init({.format = log::Format::kJson, .role = "ps", .id = "ps-0"});
//   log::Info("shard registered", {{"shard", 3}, {"address", address}});
//
//   text  2026-11-21T12:00:00.123Z info  ps-0 shard registered shard=3 address=10.0.0.7:7000
//   json  {"ts":"2026-11-21T12:00:00.123Z","level":"info","role":"ps","id":"ps-0",
//          "msg":"shard registered","shard":3,"address":"10.0.0.7:7000"}
//
// Values are escaped: no text from outside can forge a line or a field. Log nothing under a lock,
// and nothing that an outsider can repeat without a log::RateLimit. Thread-safe.
#ifndef CAPSTAN_BASE_LOG_H_
#define CAPSTAN_BASE_LOG_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"

namespace capstan::log {

enum class Format { kText, kJson };
enum class Level { kDebug, kInfo, kWarn, kError };

// Parses "text" or "json". INVALID_ARGUMENT: it is neither.
absl::StatusOr<Format> ParseFormat(std::string_view name);

// One key and its value. Keys are literals in the code; values may come from anywhere.
class Field {
 public:
  template <std::integral T>
  Field(std::string_view key, T value) : Field(key, Integer(value), Kind::kBare) {}
  Field(std::string_view key, bool value) : Field(key, value ? "true" : "false", Kind::kBare) {}
  Field(std::string_view key, double value);
  Field(std::string_view key, std::string_view value) : Field(key, std::string(value)) {}
  Field(std::string_view key, const char* value) : Field(key, std::string(value)) {}
  Field(std::string_view key, std::string value) : Field(key, std::move(value), Kind::kText) {}
  template <std::same_as<absl::string_view> T>  // On Debian 12 it differs from std::string_view.
  Field(std::string_view key, T value) : Field(key, std::string(value)) {}
  Field(std::string_view key, absl::Duration value);  // In seconds in JSON.
  Field(std::string_view key, const absl::Status& value) : Field(key, value.ToString()) {}

  void AppendText(std::string& line) const;  // key=value
  void AppendJson(std::string& line) const;  // "key":value

 private:
  enum class Kind { kBare, kText };  // kBare: a number or a boolean, written without quotes.

  Field(std::string_view key, std::string value, Kind kind)
      : key_(key), value_(std::move(value)), kind_(kind) {}
  template <std::integral T>
  static std::string Integer(T value) {
    return std::to_string(value);
  }

  std::string key_;
  std::string value_;
  Kind kind_;
};

using Fields = std::initializer_list<Field>;

struct Options {
  Format format = Format::kText;
  Level level = Level::kInfo;  // Lines below it are not written.
  std::string role = {};       // chief | ps | worker
  std::string id = {};         // "ps-0", the worker's name; empty: the role.
};

// Sets the options of the log. Before the first call, lines are written as text without a role. May
// be called again.
void Init(const Options& options);

// Adds the job's name to every JSON line from now on; a shard learns it only when it registers.
void SetJob(std::string_view job);

void Info(std::string_view message, Fields fields = {});
void Warn(std::string_view message, Fields fields = {});
void Error(std::string_view message, Fields fields = {});

// Writes at most one line per period, and counts the others: the next line that is written ends
// with suppressed=<n>.
//
//   refused_log_.Warn("push refused", {{"reason", reason}});
//
// Thread-safe.
class RateLimit {
 public:
  // `clock` must outlive this object.
  RateLimit(const Clock& clock, absl::Duration period) : clock_(clock), period_(period) {}

  void Info(std::string_view message, Fields fields = {}) { Log(Level::kInfo, message, fields); }
  void Warn(std::string_view message, Fields fields = {}) { Log(Level::kWarn, message, fields); }

 private:
  void Log(Level level, std::string_view message, Fields fields);

  const Clock& clock_;
  const absl::Duration period_;
  absl::Mutex mu_;
  absl::Time next_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t suppressed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace capstan::log

#endif  // CAPSTAN_BASE_LOG_H_
