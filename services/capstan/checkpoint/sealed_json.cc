#include "capstan/checkpoint/sealed_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "capstan/base/crc32c.h"
#include "google/protobuf/util/json_util.h"

namespace capstan {
namespace {

namespace json = google::protobuf::util;

constexpr std::string_view kCrcFront = ",\n \"crc32c\": \"";
constexpr std::string_view kCrcBack = "\"\n}\n";
constexpr size_t kCrcDigits = 8;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string CrcLine(std::string_view body) {
  return absl::StrCat(View(kCrcFront), absl::StrFormat("%08x", Crc32c(body)), View(kCrcBack));
}

}  // namespace

absl::StatusOr<std::string> SealJson(const google::protobuf::Message& message) {
  json::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!json::MessageToJsonString(message, &text, options).ok()) {
    return absl::InternalError(absl::StrCat(message.GetTypeName(), " cannot be written as JSON"));
  }
  text.resize(text.find_last_of('}'));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + CrcLine(text);
}

absl::Status OpenSealedJson(std::string_view name, const std::string& text,
                            google::protobuf::Message& message) {
  const size_t tail = kCrcFront.size() + kCrcDigits + kCrcBack.size();
  const std::string body = text.size() < tail ? "" : text.substr(0, text.size() - tail);
  if (text != body + CrcLine(body)) {
    return absl::DataLossError(absl::StrCat(View(name), ": the checksum does not agree"));
  }
  json::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!json::JsonStringToMessage(body + "\n}\n", &message, options).ok()) {
    return absl::DataLossError(absl::StrCat(View(name), ": not a ", message.GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace capstan
