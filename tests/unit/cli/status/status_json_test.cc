#include "cli/status/status_json.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>

#include "capstan/v1/chief.pb.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

v1::GetStatusReply Status() {
  v1::GetStatusReply status;
  status.set_job("a \"demo\"\n");
  status.set_state(v1::JOB_STATE_RUNNING);
  status.set_examples(uint64_t{1} << 60);
  status.set_progress(0.1);
  status.add_warnings("odd");
  v1::Evaluation& evaluation = *status.add_evaluations();
  (*evaluation.mutable_metrics())["auc"] = 0.75;
  status.mutable_checkpoint()->set_step(7);
  status.add_shards()->mutable_report()->add_staleness_counts(3);
  return status;
}

TEST(ToJsonTest, IntegersOf64BitsAreNumbers) {
  EXPECT_THAT(ToJson(Status()), HasSubstr("\"examples\":1152921504606846976,"));
  EXPECT_THAT(ToJson(Status()), HasSubstr("\"staleness_counts\":[3]"));
}

TEST(ToJsonTest, ProtobufReadsTheSameMessageFromIt) {
  v1::GetStatusReply read;
  const auto status = google::protobuf::util::JsonStringToMessage(ToJson(Status()), &read);
  ASSERT_TRUE(status.ok()) << status.ToString() << ToJson(Status());
  EXPECT_EQ(read.SerializeAsString(), Status().SerializeAsString());
}

TEST(ToJsonTest, WhatJsonHasNoNumberForIsAText) {
  v1::GetStatusReply status;
  status.set_loss(std::nan(""));
  EXPECT_THAT(ToJson(status), HasSubstr("\"loss\":\"NaN\""));
}

TEST(ToJsonTest, EveryFieldIsThere) {
  EXPECT_THAT(ToJson(v1::GetStatusReply()), HasSubstr("\"bad_records\":0,"));
}

}  // namespace
}  // namespace capstan::cli
