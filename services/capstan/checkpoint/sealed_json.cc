#include "capstan/checkpoint/sealed_json.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/crc32c.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"

namespace capstan {
namespace {

namespace json = google::protobuf::util;

constexpr std::string_view kCrcFront = ",\n \"crc32c\": \"";
constexpr std::string_view kCrcBack = "\"\n}\n";
constexpr size_t kCrcDigits = 8;

std::string CrcLine(std::string_view body) {
  return absl::StrCat(AbslView(kCrcFront), absl::StrFormat("%08x", Crc32c(body)),
                      AbslView(kCrcBack));
}

// Serializes maps in the order of their keys, as protobuf's own order differs each time.
std::string OrderedBytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> SealJson(const google::protobuf::Message& message) {
  json::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  constexpr char kUrlPrefix[] = "type.capstan";
  const std::unique_ptr<json::TypeResolver> resolver(
      json::NewTypeResolverForDescriptorPool(kUrlPrefix, message.GetDescriptor()->file()->pool()));
  std::string text;
  if (!json::BinaryToJsonString(resolver.get(),
                                absl::StrCat(kUrlPrefix, "/", message.GetTypeName()),
                                OrderedBytes(message), &text, options)
           .ok()) {
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
    return absl::DataLossError(absl::StrCat(AbslView(name), ": the checksum does not agree"));
  }
  json::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!json::JsonStringToMessage(body + "\n}\n", &message, options).ok()) {
    return absl::DataLossError(absl::StrCat(AbslView(name), ": not a ", message.GetTypeName()));
  }
  return absl::OkStatus();
}

}  // namespace capstan
