#include "capstan/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/quote.h"

namespace capstan::log {
namespace {

constexpr char kTextPattern[] = "%Y-%m-%dT%H:%M:%S.%eZ %-5l %v";
constexpr char kJsonPattern[] = R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// What every line needs. It is replaced as a whole, so that a line that is being written keeps the
// one with which it began.
struct Sink {
  Options options;
  std::string job;
  std::shared_ptr<spdlog::logger> logger;  // Shared with spdlog's sink while it writes.
};

std::shared_ptr<const Sink> NewSink(const Options& options, std::string job) {
  auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(ToSpdlog(options.level));
  logger->set_pattern(options.format == Format::kJson ? kJsonPattern : kTextPattern,
                      spdlog::pattern_time_type::utc);
  return std::make_shared<Sink>(Sink{options, std::move(job), std::move(logger)});
}

// The one log of the process; never destroyed, because threads may log until the very end.
struct Process {
  absl::Mutex mu;
  std::shared_ptr<const Sink> sink ABSL_GUARDED_BY(mu) = NewSink({}, "");
};

Process& TheProcess() {
  static auto& process = *new Process;
  return process;
}

std::shared_ptr<const Sink> CurrentSink() {
  Process& process = TheProcess();
  absl::MutexLock lock(&process.mu);
  return process.sink;
}

std::string TextLine(const Options& options, std::string_view message, Fields fields,
                     const Field* last) {
  std::string line = options.id.empty() ? options.role : options.id;
  if (!line.empty()) line += ' ';
  AppendEscaped(line, message);
  auto append = [&line](const Field& field) {
    line += ' ';
    field.AppendText(line);
  };
  for (const Field& field : fields) append(field);
  if (last != nullptr) append(*last);
  return line;
}

std::string JsonLine(const Sink& sink, std::string_view message, Fields fields, const Field* last) {
  std::string line;
  auto append = [&line](const Field& field) {
    field.AppendJson(line);
    line += ',';
  };
  if (!sink.options.role.empty()) append({"role", sink.options.role});
  if (!sink.options.id.empty()) append({"id", sink.options.id});
  if (!sink.job.empty()) append({"job", sink.job});
  append({"msg", message});
  for (const Field& field : fields) append(field);
  if (last != nullptr) append(*last);
  line.pop_back();
  return line;
}

void Write(Level level, std::string_view message, Fields fields, const Field* last = nullptr) {
  const std::shared_ptr<const Sink> sink = CurrentSink();
  const spdlog::level::level_enum severity = ToSpdlog(level);
  if (!sink->logger->should_log(severity)) return;
  const std::string line = sink->options.format == Format::kJson
                               ? JsonLine(*sink, message, fields, last)
                               : TextLine(sink->options, message, fields, last);
  sink->logger->log(severity, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

absl::StatusOr<Format> ParseFormat(std::string_view name) {
  if (name == "text") return Format::kText;
  if (name == "json") return Format::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("log format is ", Quoted(name), ", expected text or json"));
}

Field::Field(std::string_view key, double value)
    : Field(key, absl::StrFormat("%.6g", value), std::isfinite(value) ? Kind::kBare : Kind::kText) {
}

Field::Field(std::string_view key, absl::Duration value)
    : Field(key, absl::ToDoubleSeconds(value)) {}

void Field::AppendText(std::string& line) const {
  absl::StrAppend(&line, key_, "=");
  if (kind_ == Kind::kBare || IsPlainWord(value_)) {
    line += value_;
    return;
  }
  line += Quoted(value_);
}

void Field::AppendJson(std::string& line) const {
  absl::StrAppend(&line, Quoted(key_), ":");
  line += kind_ == Kind::kBare ? value_ : Quoted(value_);
}

void Init(const Options& options) {
  Process& process = TheProcess();
  absl::MutexLock lock(&process.mu);
  process.sink = NewSink(options, process.sink->job);
}

void SetJob(std::string_view job) {
  Process& process = TheProcess();
  absl::MutexLock lock(&process.mu);
  process.sink = NewSink(process.sink->options, std::string(job));
}

void Info(std::string_view message, Fields fields) { Write(Level::kInfo, message, fields); }
void Warn(std::string_view message, Fields fields) { Write(Level::kWarn, message, fields); }
void Error(std::string_view message, Fields fields) { Write(Level::kError, message, fields); }

void RateLimit::Log(Level level, std::string_view message, Fields fields) {
  int64_t suppressed = 0;
  {
    const absl::Time now = clock_.Now();
    absl::MutexLock lock(&mu_);
    if (now < next_) {
      ++suppressed_;
      return;
    }
    next_ = now + period_;
    suppressed = std::exchange(suppressed_, 0);
  }
  const Field count("suppressed", suppressed);
  Write(level, message, fields, suppressed > 0 ? &count : nullptr);
}

}  // namespace capstan::log
