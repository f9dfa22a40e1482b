// ChiefWorld: what a move is called, and the line by which states are compared.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tests/simulation/chief_text.h"
#include "tests/simulation/chief_world.h"
#include "tests/simulation/chief_world_worker.h"

namespace capstan::simulation {

std::string ChiefWorld::Describe(const Move& move) const {
  static constexpr const char* kNames[] = {"the store does what the chief asked for",
                                           "a shard answers",
                                           "a heartbeat of worker",
                                           "",
                                           "a second passes",
                                           "the answer is lost to a heartbeat of worker",
                                           "a heartbeat comes again of worker",
                                           "a call is lost",
                                           "the answer of a shard is lost",
                                           "a call will come again",
                                           "a call comes late",
                                           "nothing is heard any more of worker",
                                           "death of worker",
                                           "death of shard",
                                           "death of the chief"};
  if (move.kind == Move::Kind::kStep) return SmallWorld::Describe(move.step);
  std::string text = absl::StrCat(kNames[static_cast<int>(move.kind)], " ", move.index);
  const bool call = move.kind == Move::Kind::kAnswer || move.kind == Move::Kind::kLoseCall ||
                    move.kind == Move::Kind::kLoseAnswer || move.kind == Move::Kind::kRepeatCall ||
                    move.kind == Move::Kind::kLateCall;
  if (call) AppendOrder(orders_[move.index], text);
  return text;
}

std::string ChiefWorld::Text() const {
  std::string text =
      absl::StrCat("arrived ", arrived_, "\n",
                   chief_ ? simulation::TextOf(*chief_, ChiefTime()) : std::string("no chief"),
                   "\nstored ", simulation::TextOf(store_.state));
  for (const auto& [folder, saved] : store_.checkpoints) {
    absl::StrAppend(&text, "\ncheckpoint ",
                    saved.manifest ? saved.manifest->progress().ShortDebugString() : "incomplete");
    for (const auto& [index, partition] : saved.partitions) AppendPartition(partition, text);
  }
  for (const chief::Action& action : to_store_) {
    absl::StrAppend(&text, "\nto store ", action.index());
    if (const auto* store = std::get_if<chief::StoreState>(&action)) {
      absl::StrAppend(&text, " ", simulation::TextOf(store->state));
    }
  }
  AppendShards(text);
  AppendWorkers(text);
  std::vector<std::string> lines;
  for (const Message& message : messages_) {
    const Runner& runner = runners_[message.runner];
    lines.push_back(absl::StrCat("message of ", runner.work, " g", runner.generation.term, ".",
                                 runner.generation.count, message.orphan ? "o" : "",
                                 message.parked ? "p" : "", " ", TextOf(message.request)));
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) absl::StrAppend(&text, "\n", line);
  return text;
}

// Without the view's number, which rises although nothing else may have changed.
void ChiefWorld::AppendOrder(const Order& order, std::string& text) {
  const chief::ShardRequest& request = order.call.request;
  const std::unique_ptr<google::protobuf::Message> told(request->New());
  told->CopyFrom(*request);
  const google::protobuf::FieldDescriptor* const header =
      told->GetDescriptor()->FindFieldByName("header");
  dynamic_cast<v1::RequestHeader&>(*told->GetReflection()->MutableMessage(told.get(), header))
      .mutable_epoch()
      ->clear_n();
  absl::StrAppend(&text, " of shard ", order.call.shard, " i", order.call.incarnation, " call ",
                  request->GetDescriptor()->name(), order.orphan ? "o" : "",
                  order.parked ? "p" : "", " {", told->ShortDebugString(), "}");
}

void ChiefWorld::AppendShards(std::string& text) const {
  for (size_t i = 0; i < shards_.size(); ++i) {
    const Shard& shard = shards_[i];
    const ShardProcess& process = processes_[i];
    absl::StrAppend(&text, "\nS", process.life, process.alive, shard.serves, " t",
                    Raw(shard.timeline), " heard ", process.heard_term, ",", process.heard_timeline,
                    " l", shard.log.last_round());
    for (const Partition& partition : shard.partitions) AppendPartition(partition, text);
  }
  absl::StrAppend(&text, "\n", coordinator_ ? coordinator_->DebugString() : "no coordinator");
  std::vector<std::string> lines;
  for (const Order& order : orders_) AppendOrder(order, lines.emplace_back());
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) absl::StrAppend(&text, "\norder", line);
}

void ChiefWorld::AppendWorkers(std::string& text) const {
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->AppendText(text);
    for (const auto& [index, holder] : holders_) {
      if (holder != i) continue;
      const Runner& runner = runners_[index];
      absl::StrAppend(&text, " H", runner.work, runner.alive ? " " : " gone ",
                      runner.lease->Text());
    }
  }
}

}  // namespace capstan::simulation
