// Bytes that are to be sent, as the generated class reads them.
#ifndef CAPSTAN_TESTS_UNIT_PS_SHARD_PARSED_H_
#define CAPSTAN_TESTS_UNIT_PS_SHARD_PARSED_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "capstan/base/check.h"

namespace capstan::ps {

template <typename Message>
Message Parsed(const grpc::ByteBuffer& sent) {
  std::vector<grpc::Slice> slices;
  CAPSTAN_CHECK(sent.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  Message message;
  CAPSTAN_CHECK(message.ParseFromString(text));
  return message;
}

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_SHARD_PARSED_H_
