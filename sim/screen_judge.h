// What users are told: of each device a screen that is made of its events alone, as an application makes it, and begun
// anew from the store when the process starts. After each input it has to show what the store holds.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/replica/events.h"
#include "core/replica/frames.h"
#include "core/replica/state.h"
#include "sim/run_context.h"

namespace tidemark::sim {

class SimDevice;

class ScreenJudge {
 public:
  explicit ScreenJudge(RunContext& run) : run_(run) {}

  /// The device takes this frame, and the batch that comes of it is about to be stored.
  void answered(const SimDevice& device, const replica::ServerFrame& frame);
  void storing(const SimDevice& device, const replica::StoreBatch& batch);
  void told(const SimDevice& device, const replica::Event& event);
  /// The input was carried out, and all of its events were told.
  void acted(const SimDevice& device);
  /// All of the screen, whatever was told of last.
  void check(const SimDevice& device);
  /// What the user wrote; empty when he wrote no such message.
  std::string text_of(const SimDevice& device, std::uint64_t local_id);

 private:
  /// As a list shows it.
  struct Line {
    bool removed = false;
    bool member = false;
    std::int64_t sort_time = 0;
    std::int64_t muted_until = 0;
    std::int64_t pinned_at = 0;
    std::uint32_t mentions = 0;
    std::string title;
    Preview preview;
    bool operator==(const Line&) const = default;
  };
  static Line line_of(const Change& object);
  struct Shown {
    Line line;
    Unread unread;
    bool unread_flag = false;
    Seq read;
    std::map<Seq, std::shared_ptr<const Entry>> rows;
    Seq top;  // the highest row that was ever shown
  };
  struct Waiting {
    ConversationId conversation;
    std::string client_msg_id;
    replica::OutboxOutcome outcome = replica::OutboxOutcome::queued;  // queued, undecided or failed
  };
  /// A recall, an edit or a reaction, and its message.
  using ToMessage = std::tuple<replica::MutationKind, ConversationId, Seq>;
  enum class Frame : std::uint8_t { none, push, sync, page, history, other };
  struct Screen {
    std::uint64_t life = 0;
    std::map<ConversationId, Shown> conversations;
    std::map<std::uint64_t, Waiting> outbox;
    std::map<std::uint64_t, std::string> texts;  // of what was written, by local_id

    // Of the input under way.
    Frame frame = Frame::none;
    bool parked = false;                                     // pushes waited for this frame, and may be taken with it
    bool snapshot = false;                                   // it is a page of a snapshot
    bool first = false;                                      // the device knew nothing before
    std::map<ConversationId, Seq> lowest;                    // where what it held began
    std::set<ConversationId> touched;                        // by the batch or by an event
    std::map<ConversationId, std::vector<Interval>> let_go;  // ranges whose rows went out of the store
    std::set<std::pair<ConversationId, Seq>> unsaid;         // rows that were shown and went so
    std::set<ConversationId> full;                           // with as many ranges as may be held
    std::multiset<ToMessage> closed;                         // changes of messages that wait to be sent no more
    bool outbox_touched = false;
  };
  Screen& screen_of(const SimDevice& device);
  void message(const SimDevice& device, Screen& screen, const replica::MessageEvent& event);
  void check_notify(const SimDevice& device, const Screen& screen, const replica::MessageEvent& event) const;
  static void conversation(const SimDevice& device, Screen& screen, const replica::ConversationEvent& event);
  static void outbox(const SimDevice& device, Screen& screen, const replica::OutboxEvent& event);
  static bool went_as_hidden(const SimDevice& device, const Screen& screen, const ConversationId& id, Seq seq);
  void check_conversation(const SimDevice& device, Screen& screen, const ConversationId& id) const;
  void check_outbox(const SimDevice& device, const Screen& screen) const;

  RunContext& run_;
  std::map<const SimDevice*, Screen> screens_;
};

}  // namespace tidemark::sim
