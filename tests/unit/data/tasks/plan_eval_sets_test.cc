#include "capstan/data/tasks/plan_eval_sets.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>

#include "capstan/config/eval_sets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class EvalSetsTest : public testing::Test {
 protected:
  EvalSetsTest() {
    data_.set_format(v1::DATA_FORMAT_CSV);
    data_.set_columns(2);
    data_.set_task_bytes(8);
  }

  void AddSet(const char* name, std::initializer_list<const char*> files) {
    v1::EvalSet& set = *data_.add_eval_sets();
    set.set_name(name);
    set.set_files(static_cast<uint32_t>(files.size()));
    for (const char* file : files) data_.add_eval(folder_.Path(file));
  }
  absl::StatusOr<EvalTasks> Plan() const {
    return PlanEvalSets(*NewDataFiles(), data_, {.batch_size = 1});
  }
  // Of the ranges [begin, end).
  static std::set<std::string> FilesOf(const EvalTasks& tasks, uint32_t begin, uint32_t end) {
    std::set<std::string> files;
    for (uint32_t i = begin; i < end; ++i) {
      files.insert(tasks.ranges[i].file().substr(tasks.ranges[i].file().rfind('/') + 1));
    }
    return files;
  }

  TestFolder folder_;
  v1::DataSpec data_;
};

TEST_F(EvalSetsTest, EachSetIsPlannedByItselfAndTheNextOneBeginsAtItsEnd) {
  for (const char* file : {"a.csv", "b.csv", "c.csv"}) folder_.Write(file, "1,2\n3,4\n5,6\n7,8\n");
  AddSet("all", {"a.csv", "b.csv"});
  AddSet("late", {"c.csv"});
  const absl::StatusOr<EvalTasks> tasks = Plan();
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  EXPECT_THAT(tasks->ends, ElementsAre(4, 6));
  ASSERT_EQ(tasks->ranges.size(), 6u);
  EXPECT_THAT(FilesOf(*tasks, 0, 4), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(FilesOf(*tasks, 4, 6), ElementsAre("c.csv"));
}

TEST_F(EvalSetsTest, AFileMayBeInTwoSets) {
  folder_.Write("a.csv", "1,2\n");
  AddSet("all", {"a.csv"});
  AddSet("again", {"a.csv"});
  EXPECT_THAT(Plan()->ends, ElementsAre(1, 2));
}

TEST_F(EvalSetsTest, FilesWithoutANameAreOneSetAndNothingHeldOutIsNone) {
  EXPECT_TRUE(Plan()->ranges.empty());
  EXPECT_TRUE(Plan()->ends.empty());
  data_.add_eval(folder_.Write("a.csv", "1,2\n"));
  EXPECT_THAT(Plan()->ends, ElementsAre(1));
  ASSERT_THAT(EvalSetsOf(data_), SizeIs(1));
  EXPECT_EQ(EvalSetsOf(data_).front().name, "");
}

TEST_F(EvalSetsTest, AFileThatIsNotThereIsNamed) {
  AddSet("all", {"nowhere.csv"});
  EXPECT_THAT(std::string(Plan().status().message()), HasSubstr("nowhere.csv"));
}

}  // namespace
}  // namespace capstan
