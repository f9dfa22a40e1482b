#include "capstan/metrics/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/lib/test_folder.h"

namespace capstan::metrics {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << content;
  }
  CgroupFiles files() const { return {folder_ / "membership", folder_ / "root"}; }

  const TestFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(CgroupTest, ReadsTheLimitsOfVersion2) {
  Write("membership", "0::/pod\n");
  Write("root/pod/memory.max", "1073741824\n");
  Write("root/pod/cpu.max", "150000 100000\n");
  Write("root/pod/cpu.stat", "usage_usec 9\nthrottled_usec 2500000\n");
  const CgroupLimits limits = ReadCgroupLimits(files());
  EXPECT_EQ(limits.memory_bytes, 1073741824);
  EXPECT_EQ(limits.cpu_cores, 1.5);
  EXPECT_EQ(ReadThrottledSeconds(files()), 2.5);
  EXPECT_EQ(UsableMemoryBytes(files()), uint64_t{1} << 30);
}

TEST_F(CgroupTest, ReadsTheLimitsOfVersion1WhereTheContainersOwnGroupIsMounted) {
  Write("membership", "4:memory:/kubepods/pod\n2:cpu,cpuacct:/kubepods/pod\n");
  Write("root/memory/memory.limit_in_bytes", "268435456\n");
  Write("root/cpu/cpu.cfs_quota_us", "50000\n");
  Write("root/cpu/cpu.cfs_period_us", "100000\n");
  Write("root/cpu/cpu.stat", "nr_periods 3\nthrottled_time 1500000000\n");
  const CgroupLimits limits = ReadCgroupLimits(files());
  EXPECT_EQ(limits.memory_bytes, 268435456);
  EXPECT_EQ(limits.cpu_cores, 0.5);
  EXPECT_EQ(ReadThrottledSeconds(files()), 1.5);
}

TEST_F(CgroupTest, WhatIsNotLimitedOrCannotBeReadHasNoLimit) {
  EXPECT_FALSE(ReadCgroupLimits(files()).memory_bytes);
  EXPECT_GT(UsableMemoryBytes(files()), uint64_t{1} << 30) << "the machine's";
  Write("membership", "0::/\n");
  Write("root/memory.max", "max\n");
  Write("root/cpu.max", "max 100000\n");
  EXPECT_FALSE(ReadCgroupLimits(files()).memory_bytes);
  EXPECT_FALSE(ReadCgroupLimits(files()).cpu_cores);
  Write("membership", "4:memory:/\n1:cpu:/\n");
  Write("root/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("root/cpu/cpu.cfs_quota_us", "-1\n");
  Write("root/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(ReadCgroupLimits(files()).memory_bytes);
  EXPECT_FALSE(ReadCgroupLimits(files()).cpu_cores);
  EXPECT_EQ(ReadThrottledSeconds(files()), 0);
}

}  // namespace
}  // namespace capstan::metrics
