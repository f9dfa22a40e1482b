#include "capstan/message/visit_field.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "capstan/v1/chief.pb.h"

namespace capstan {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::Message;

// Names the type of a value, and the value.
struct Told {
  std::string operator()(int32_t value) const { return "int32 " + std::to_string(value); }
  std::string operator()(int64_t value) const { return "int64 " + std::to_string(value); }
  std::string operator()(uint32_t value) const { return "uint32 " + std::to_string(value); }
  std::string operator()(uint64_t value) const { return "uint64 " + std::to_string(value); }
  std::string operator()(float value) const { return "float " + std::to_string(value); }
  std::string operator()(double value) const { return "double " + std::to_string(value); }
  std::string operator()(bool value) const { return value ? "bool true" : "bool false"; }
  std::string operator()(const EnumValueDescriptor* value) const { return "enum " + value->name(); }
  std::string operator()(const std::string& value) const { return "string " + value; }
  std::string operator()(const Message& value) const { return value.GetTypeName(); }
};

std::string Tell(const Message& message, const std::string& field, int index = 0) {
  return VisitField(message, *message.GetDescriptor()->FindFieldByName(field), index, Told());
}

TEST(VisitFieldTest, EachValueComesInTheTypeOfItsField) {
  v1::GetStatusReply status;
  status.set_job("demo");
  status.set_state(v1::JOB_STATE_RUNNING);
  status.set_examples(uint64_t{1} << 60);
  status.set_progress(0.5);
  EXPECT_EQ(Tell(status, "job"), "string demo");
  EXPECT_EQ(Tell(status, "state"), "enum JOB_STATE_RUNNING");
  EXPECT_EQ(Tell(status, "examples"), "uint64 1152921504606846976");
  EXPECT_EQ(Tell(status, "progress"), "double 0.500000");
  EXPECT_EQ(Tell(status, "checkpoint"), "capstan.v1.CheckpointStatus");
}

TEST(VisitFieldTest, OfARepeatedFieldItIsTheOneWithThisIndex) {
  v1::GetStatusReply status;
  status.add_warnings("odd");
  status.add_warnings("odder");
  status.add_shards()->set_index(1);
  EXPECT_EQ(Tell(status, "warnings", 1), "string odder");
  EXPECT_EQ(Tell(status, "shards", 0), "capstan.v1.ShardStatus");
}

}  // namespace
}  // namespace capstan
