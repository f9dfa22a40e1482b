// Every sequence of a few steps around copies of a table: what a chain of copies holds is the table
// as it was when the last of them was marked, whatever was erased and whichever copies came to
// nothing in between.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "capstan/store/table_mark.h"
#include "gtest/gtest.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

enum class Step {
  kTouch,     // Rows 1 and 2 are there and change.
  kExpire,    // All rows are gone but row 3, which is there.
  kEvict,     // The budget makes room for another row.
  kOverflow,  // More keys are erased than are remembered.
  kMark,      // A copy begins: of changes alone, where they are known.
  kMarkFull,  // A copy begins that shall be whole.
  kReadHalf,  // Half of what the copy still lacks.
  kSafe,      // All of it, and it is safe.
  kFail,      // It comes to nothing.
  kCrash,     // The table is restored from the last safe copy.
};
constexpr std::pair<Step, const char*> kSteps[] = {
    {Step::kTouch, "touch"},        {Step::kExpire, "expire"}, {Step::kEvict, "evict"},
    {Step::kOverflow, "overflow"},  {Step::kMark, "mark"},     {Step::kMarkFull, "mark full"},
    {Step::kReadHalf, "read half"}, {Step::kSafe, "safe"},     {Step::kFail, "fail"},
    {Step::kCrash, "crash"}};

constexpr size_t kErasedKeys = 3;  // Are remembered.
constexpr uint64_t kExpiry = 100;

v1::TableSpec Spec() {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(kExpiry);
  spec.set_admission_count(1);
  spec.set_byte_budget(6 * 64);  // Room for a handful of rows.
  return spec;
}

std::unique_ptr<Table> NewTable() {
  return *Table::Create(Spec(), /*partition_count=*/1, /*arena=*/nullptr, kErasedKeys);
}

// What a restore sees of a table.
using Row = std::tuple<uint32_t, uint64_t, std::vector<float>>;
struct Content {
  std::map<uint64_t, Row> rows;
  uint64_t progress = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

Row RowOf(const RowState& row) {
  return {row.frequency, row.touched_examples, {row.state.begin(), row.state.end()}};
}

Content ContentOf(const Table& table) {
  Content content{.progress = table.progress_examples()};
  table.ForEachRow([&](const RowState& row) { content.rows[row.key] = RowOf(row); });
  return content;
}

// A table, a copy of it that may be under way, and the last one that is safe.
class CopiedTable {
 public:
  bool Allows(Step step) const {
    switch (step) {
      case Step::kMark:
      case Step::kMarkFull:
        return !copy_;
      case Step::kReadHalf:
      case Step::kSafe:
      case Step::kFail:
        return copy_.has_value();
      default:
        return true;
    }
  }

  // False: a safe copy is not the table as it was at its mark.
  bool Do(Step step) {
    switch (step) {
      case Step::kTouch:
        PushOnes(*table_, {1, 2}, progress_ += 1);
        return true;
      case Step::kExpire:
        PushOnes(*table_, {3}, progress_ += 2 * kExpiry);
        PushOnes(*table_, {3}, progress_);
        return true;
      case Step::kEvict:
        PushOnes(*table_, {next_key_++, 4}, progress_ += 1);
        return true;
      case Step::kOverflow:
        for (size_t i = 0; i <= kErasedKeys; ++i) PushOnes(*table_, {next_key_++}, progress_ += 1);
        return Do(Step::kExpire);
      case Step::kMark:
      case Step::kMarkFull:
        Mark(/*changes_only=*/step == Step::kMark && safe_ && table_->changes_known());
        return true;
      case Step::kReadHalf:
        Read(copy_->places.size() / 2);
        return true;
      case Step::kSafe:
        return EndSafely();
      case Step::kFail:
        copy_.reset();
        table_->SettleMark(/*safe=*/false);
        return true;
      case Step::kCrash:
        Restore();
        return true;
    }
    return false;
  }

 private:
  struct Copy {
    bool changes_only = false;
    Content wanted;
    std::vector<RowPlace> places;  // Not read yet, ascending.
    Content read;
  };

  void Mark(bool changes_only) {
    table_->Mark(changes_only);
    copy_ = {.changes_only = changes_only, .wanted = ContentOf(*table_)};
    copy_->read.progress = table_->mark().progress_examples;
    copy_->places = table_->MarkedRows();
    std::sort(copy_->places.begin(), copy_->places.end());
  }

  void Read(size_t count) {
    const std::vector<RowPlace> piece(copy_->places.begin(), copy_->places.begin() + count);
    table_->VisitMarked(piece,
                        [&](const RowState& row) { copy_->read.rows[row.key] = RowOf(row); });
    copy_->places.erase(copy_->places.begin(), copy_->places.begin() + count);
  }

  bool EndSafely() {
    Read(copy_->places.size());
    Content whole;
    if (copy_->changes_only) {
      whole.rows = safe_->rows;
      for (uint64_t key : table_->mark().erased) whole.rows.erase(key);
    }
    whole.progress = copy_->read.progress;
    for (const auto& [key, row] : copy_->read.rows) whole.rows[key] = row;
    const bool right = whole == copy_->wanted;
    safe_ = std::move(whole);
    copy_.reset();
    table_->SettleMark(/*safe=*/true);
    return right;
  }

  void Restore() {
    table_ = NewTable();
    copy_.reset();
    if (!safe_) return;
    for (const auto& [key, row] : safe_->rows) {
      const auto& [frequency, touched, state] = row;
      EXPECT_TRUE(table_->RestoreRow({key, frequency, touched, state}).ok());
    }
    table_->RestoreProgress(safe_->progress);
    table_->TrackChanges();
  }

  std::unique_ptr<Table> table_ = NewTable();
  uint64_t progress_ = 0;
  uint64_t next_key_ = 100;
  std::optional<Content> safe_;
  std::optional<Copy> copy_;
};

// How a sequence went, played from the beginning.
struct Played {
  bool possible = true;
  bool right = true;
};
Played Play(const std::vector<Step>& steps) {
  CopiedTable copied;
  for (const Step step : steps) {
    if (!copied.Allows(step)) return {.possible = false};
    if (!copied.Do(step)) return {.right = false};
  }
  return {};
}

std::string Text(const std::vector<Step>& steps) {
  return absl::StrJoin(steps, ", ", [](std::string* out, Step step) {
    out->append(kSteps[static_cast<size_t>(step)].second);
  });
}

// Plays all continuations of `steps` by at most `more`. Returns how many sequences were played.
size_t Explore(std::vector<Step>& steps, size_t more, std::vector<Step>& wrong) {
  const Played played = Play(steps);
  if (!played.possible || !wrong.empty()) return 0;
  if (!played.right) wrong = steps;
  size_t count = 1;
  for (const auto& [step, name] : kSteps) {
    if (more == 0 || !wrong.empty()) break;
    steps.push_back(step);
    count += Explore(steps, more - 1, wrong);
    steps.pop_back();
  }
  return count;
}

TEST(CopiesExplorerTest, AChainOfCopiesIsTheTableInEverySequenceFromItsBeginning) {
  std::vector<Step> steps;
  std::vector<Step> wrong;
  const size_t played = Explore(steps, /*more=*/5, wrong);
  EXPECT_EQ(Text(wrong), "");
  EXPECT_GT(played, 10'000u);
}

TEST(CopiesExplorerTest, AChainOfCopiesIsTheTableInEverySequenceAfterAFirstSafeCopy) {
  std::vector<Step> steps = {Step::kTouch, Step::kEvict, Step::kMark, Step::kSafe};
  std::vector<Step> wrong;
  const size_t played = Explore(steps, /*more=*/6, wrong);
  EXPECT_EQ(Text(wrong), "");
  EXPECT_GT(played, 100'000u);
}

}  // namespace
}  // namespace capstan
