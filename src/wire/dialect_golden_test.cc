// Golden vectors: frames whose bytes must never change, in both dialects, in proto/golden/ for every client library to
// read. NAME.bin and NAME.json hold the same frame: a ClientFrame when NAME begins with client_, a ServerFrame when it
// begins with server_. UPDATE_GOLDEN=1 writes them anew: do so only for a change that the protocol allows.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <variant>

#include "tidemark.pb.h"
#include "wire/dialect.h"

namespace tidemark {
namespace {

using Frame = std::variant<v1::ClientFrame, v1::ServerFrame>;

const std::filesystem::path kFolder = std::filesystem::path(TIDEMARK_SOURCE_DIR) / "proto" / "golden";

v1::Message sample_message() {
  v1::Message message;
  message.set_message_id("1001_2002:57");
  message.set_seq(57);
  message.set_kind(v1::KIND_MESSAGE);
  message.set_ord(55);
  message.set_sender("1001");
  message.set_sender_device("phone");
  message.set_server_time(1718000000123);
  message.set_client_time(1718000000000);
  message.set_state(v1::STATE_EDITED);
  message.set_revision(60);
  message.set_priority(v1::PRIORITY_HIGH);
  message.mutable_body()->set_type("text");
  message.mutable_body()->set_text("\"Hi\" \\ 你好\n😀\u2028\x01");
  message.set_reply_to(12);
  message.add_mentions("2002");
  return message;
}

v1::Cursor sample_cursor() {
  v1::Cursor cursor;
  cursor.set_epoch(2);
  cursor.set_epoch_id("00c0ffee00c0ffee");
  cursor.set_mark(4294967297);
  cursor.set_round(991);
  return cursor;
}

v1::Change sample_change() {
  v1::Change change;
  change.set_conversation_id("group_5001");
  change.set_kind(v1::CONVERSATION_KIND_GROUP);
  change.set_mark(88);
  change.set_head_seq(58);
  change.set_top(57);
  change.set_sort_time(1718000000123);
  change.set_member(true);
  change.set_role(v1::ROLE_OWNER);
  auto& period = *change.add_periods();
  period.set_join(1);
  period.set_visible_from(1);
  change.set_read_seq(50);
  change.set_unread(5);
  change.set_unread_exact(true);
  change.set_title("家人");
  auto& preview = *change.mutable_preview();
  preview.set_message_id("group_5001:57");
  preview.set_seq(57);
  preview.set_sender("1001");
  preview.set_type("text");
  preview.set_text("cut here");
  preview.set_cut(true);
  auto& hidden = *change.add_hidden();
  hidden.set_to(3);
  hidden.set_reason(v1::HIDDEN_REASON_CLEARED);
  return change;
}

void add_client_frames(std::map<std::string, Frame>& frames) {
  const auto add = [&](const char* name, std::uint64_t id) -> v1::ClientFrame& {
    auto& frame = std::get<v1::ClientFrame>(frames[name] = v1::ClientFrame{});
    frame.set_id(id);
    return frame;
  };
  auto& hello = *add("client_hello", 1).mutable_hello();
  hello.set_token("header.payload.signature");
  hello.set_device("phone");
  hello.set_install("0123456789abcdef");
  hello.set_platform("ios");
  *hello.mutable_cursor() = sample_cursor();
  hello.set_next_mutation(4);
  auto& send = *add("client_send", 2).mutable_send();
  send.set_to("2002");
  send.set_client_msg_id("01901d2e-5f00-7abc-8def-0123456789ab");
  send.set_client_time(-1);
  auto& body = *send.mutable_body();
  body.set_type("order");
  body.set_summary("An order");
  body.set_data(R"({"total": 1e400, "exact": 9007199254740993})");
  body.set_encrypted(std::string("\0\x01\xfe\xff", 4));
  auto& file = *body.add_attachments();
  file.set_url("https://files.example/1");
  file.set_size(9007199254740991);
  file.set_mime("image/png");
  file.set_expires_at(1790000000000);
  send.set_priority(v1::PRIORITY_LOW);
  add("client_sync_first", 3).mutable_sync();
  auto& sync = *add("client_conversation_sync", 9007199254740991).mutable_conversation_sync();
  sync.set_conversation_id("group_5001");
  sync.set_after(40);
  for (std::uint64_t at : {0, 30}) {
    auto& known = *sync.add_known();
    known.set_after(at);
    known.set_to(at + 10);
  }
  auto& mutate = *add("client_mutate_read", 5).mutable_mutate();
  mutate.set_number(4);
  mutate.mutable_read()->set_conversation_id("1001_2002");
  mutate.mutable_read()->set_seq(57);
  auto& recall = *add("client_mutate_recall", 7).mutable_mutate();
  recall.set_number(5);
  recall.mutable_recall()->set_conversation_id("1001_2002");
  recall.mutable_recall()->set_seq(57);
  auto& edit = *add("client_mutate_edit", 8).mutable_mutate();
  edit.set_number(6);
  edit.mutable_edit()->set_conversation_id("1001_2002");
  edit.mutable_edit()->set_seq(57);
  edit.mutable_edit()->mutable_body()->set_text("better");
  edit.mutable_edit()->set_base_revision(0);
  auto& gone = *add("client_mutate_delete_for_me", 9).mutable_mutate();
  gone.set_number(7);
  gone.mutable_delete_for_me()->set_conversation_id("1001_2002");
  gone.mutable_delete_for_me()->add_ranges()->set_to(3);
  auto& draft = *add("client_mutate_draft", 10).mutable_mutate();
  draft.set_number(8);
  draft.mutable_draft()->set_conversation_id("1001_2002");
  draft.mutable_draft()->mutable_body()->set_text("dear");
  draft.mutable_draft()->set_reply_to(57);
  auto& drafts = *add("client_drafts", 11).mutable_drafts();
  drafts.set_limit(20);
  drafts.set_page_token("xvLUBdXpe-aJV_5lFQfOOAlhbGljZV9ib2I");
  add("client_ack", 0).mutable_ack()->set_mark(89);
}

void add_server_frames(std::map<std::string, Frame>& frames) {
  const auto add = [&](const char* name, std::uint64_t id) -> v1::ServerFrame& {
    auto& frame = std::get<v1::ServerFrame>(frames[name] = v1::ServerFrame{});
    frame.set_id(id);
    return frame;
  };
  auto& error = *add("server_error", 2).mutable_error();
  error.set_code("TOO_LARGE");
  error.set_message("This is larger than allowed; see the detail.");
  error.set_field("body");
  auto& welcome = *add("server_welcome", 1).mutable_welcome();
  welcome.set_session_generation(3);
  welcome.set_mode(v1::MODE_DELTA);
  *welcome.mutable_head() = sample_cursor();
  welcome.set_server_time(1718000000123);
  welcome.mutable_limits()->set_frame_bytes(1 << 20);
  auto& sent = *add("server_sent", 2).mutable_sent();
  sent.set_conversation_id("1001_2002");
  sent.set_seq(57);
  sent.set_message_id("1001_2002:57");
  sent.set_duplicate(true);
  sent.set_durability(v1::DURABILITY_SYNCED);
  auto& page = *add("server_sync", 3).mutable_sync();
  page.set_mode(v1::MODE_RESET);
  *page.add_changes() = sample_change();
  page.set_to(88);
  *page.mutable_next() = sample_cursor();
  auto& history = *add("server_history", 6).mutable_history();
  history.set_conversation_id("1001_2002");
  *history.add_messages() = sample_message();
  history.mutable_covers()->set_after(56);
  history.mutable_covers()->set_to(57);
  auto& push = *add("server_push", 0).mutable_push();
  auto& item = *push.add_items();
  item.set_index_after(87);
  item.set_index_to(88);
  item.set_client_msg_id("01901d2e-5f00-7abc-8def-0123456789ab");
  item.set_conversation_id("1001_2002");
  item.set_after(56);
  item.set_to(57);
  *item.mutable_entry() = sample_message();
  *push.add_items()->mutable_summary() = sample_change();
  auto& own = *add("server_push_objects", 0).mutable_push()->add_items();
  own.set_index_after(88);
  own.set_index_to(89);
  *own.mutable_summary() = sample_change();
  auto& deleted = *own.add_objects();
  deleted.set_mark(89);
  deleted.mutable_deleted()->set_conversation_id("1001_2002");
  deleted.mutable_deleted()->set_bits("\x07");
  auto& blocked = *own.add_objects();
  blocked.set_mark(89);
  blocked.mutable_blocked()->set_user("3003");
  blocked.mutable_blocked()->set_blocked(true);
  auto& reacted = *add("server_push_reaction", 0).mutable_push()->add_items();
  reacted.set_index_after(89);
  reacted.set_index_to(90);
  reacted.set_conversation_id("1001_2002");
  reacted.set_after(62);
  reacted.set_to(63);
  auto& reaction = *reacted.mutable_entry();
  reaction.set_message_id("1001_2002:63");
  reaction.set_seq(63);
  reaction.set_kind(v1::KIND_REACTION);
  reaction.set_target(57);
  reaction.set_target_sender("1001");
  auto& left = *reaction.add_reactions();
  left.set_reaction("\xf0\x9f\x91\x8d");
  left.set_count(2);
  reaction.mutable_reaction_change()->set_reaction("\xf0\x9f\x91\x8d");
  reaction.mutable_reaction_change()->set_on(true);
  auto& mutated = *add("server_mutated_edit", 8).mutable_mutated();
  mutated.set_number(6);
  mutated.set_conversation_id("1001_2002");
  mutated.set_unread_exact(true);
  mutated.set_mark(90);
  mutated.set_seq(61);
  mutated.set_state(v1::STATE_EDITED);
  mutated.set_revision(61);
  auto& changed = *add("server_conversation_sync", 9).mutable_conversation_sync();
  changed.set_conversation_id("1001_2002");
  auto& recalled = *changed.add_touched();
  recalled = sample_message();
  recalled.clear_body();
  recalled.clear_reply_to();
  recalled.clear_mentions();
  recalled.set_state(v1::STATE_RECALLED);
  recalled.set_touched(62);
  auto& entry = *changed.add_messages();
  entry.set_message_id("1001_2002:62");
  entry.set_seq(62);
  entry.set_kind(v1::KIND_RECALL);
  entry.set_ord(55);
  entry.set_sender("1001");
  entry.set_target(57);
  entry.set_target_sender("1001");
  changed.set_after(61);
  changed.set_to(62);
  changed.set_as_of(62);
  changed.set_head(62);
  changed.mutable_covers()->set_after(61);
  changed.mutable_covers()->set_to(62);
  auto& saved = *add("server_user_objects", 11).mutable_user_objects();
  auto& kept = *saved.add_objects();
  kept.set_mark(90);
  kept.mutable_draft()->set_conversation_id("1001_2002");
  kept.mutable_draft()->mutable_body()->set_text("dear");
  kept.mutable_draft()->set_saved_at(1718000000123);
  saved.set_page_token("xvLUBdXpe-aJV_5lFQfOOAlhbGljZV9ib2I");
  auto& kick = *add("server_kick", 0).mutable_kick();
  kick.set_code("REPLACED");
  kick.set_terminal(true);
}

std::map<std::string, Frame> golden_frames() {
  std::map<std::string, Frame> frames;
  add_client_frames(frames);
  add_server_frames(frames);
  return frames;
}

std::string encoded(Dialect dialect, const Frame& frame) {
  std::string out;
  if (const auto* client = std::get_if<v1::ClientFrame>(&frame))
    encode_client_frame(dialect, *client, out);
  else
    encode_server_frame(dialect, std::get<v1::ServerFrame>(frame), out);
  return out;
}

/// The frame that the bytes stand for, encoded again in binary: equal frames give equal bytes.
std::string decoded(Dialect dialect, std::string_view bytes, bool of_client) {
  if (of_client) {
    const auto frame = decode_client_frame(dialect, bytes);
    return frame ? frame->SerializeAsString() : "refused: " + frame.error().error.field;
  }
  const auto frame = decode_server_frame(dialect, bytes);
  return frame ? frame->SerializeAsString() : "refused: " + frame.error().error.field;
}

std::string file_of(const std::string& name, Dialect dialect) {
  return name + (dialect == Dialect::json ? ".json" : ".bin");
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path << " is missing";
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

TEST(Golden, FramesAreEncodedAndDecodedAsEver) {
  const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
  for (const auto& [name, frame] : golden_frames())
    for (Dialect dialect : {Dialect::binary, Dialect::json}) {
      const auto path = kFolder / file_of(name, dialect);
      if (update) std::ofstream(path, std::ios::binary) << encoded(dialect, frame);
      const std::string golden = read_file(path);
      EXPECT_EQ(encoded(dialect, frame), golden) << path;
      EXPECT_EQ(decoded(dialect, golden, name.starts_with("client_")), encoded(Dialect::binary, frame)) << path;
    }
}

TEST(Golden, EveryFileIsOneOfTheVectors) {
  std::set<std::string> known;
  for (const auto& [name, frame] : golden_frames())
    for (Dialect dialect : {Dialect::binary, Dialect::json}) known.insert(file_of(name, dialect));
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    EXPECT_TRUE(known.contains(entry.path().filename().string())) << entry.path();
}

}  // namespace
}  // namespace tidemark
