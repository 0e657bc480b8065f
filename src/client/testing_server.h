// For tests of the client: a server of the core's own rules (core/replica/replica_testing.h) behind a real port of
// 127.0.0.1. One thread a connection; slow, small, and it can be told to lose things.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/ports.h"
#include "core/conversation_id.h"
#include "core/replica/replica_testing.h"
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/dialect.h"
#include "wire/tls.h"
#include "wire/websocket.h"
#include "wire/websocket_handshake.h"

namespace tidemark {

class TestingServer {
 public:
  /// What becomes of a request that arrived.
  enum class Fate : std::uint8_t { answer, cut_before, cut_after };

  explicit TestingServer(std::uint16_t port = 0, std::unique_ptr<TlsContext> tls = nullptr)
      : tls_(std::move(tls)), acceptor_(io_, {boost::asio::ip::address_v4::loopback(), port}) {
    rules_.wall_ms = SystemClock().wall_ms();
    thread_ = std::thread([this] { accept_all(); });
  }
  ~TestingServer() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    {
      // Wakes the accepting thread.
      boost::system::error_code ignored;
      boost::asio::ip::tcp::socket knock(io_);
      knock.connect(acceptor_.local_endpoint(), ignored);
    }
    thread_.join();
    cut_all();
    for (std::thread& each : connections_) each.join();
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string url() const {
    return std::string(tls_ ? "wss" : "ws") + "://127.0.0.1:" + std::to_string(port()) + "/v1/ws";
  }

  /// Runs with the rules under their lock; what they push is sent.
  template <typename Act>
  auto with(Act act) {
    const std::lock_guard lock(mutex_);
    auto result = act(rules_);
    flush_all();
    return result;
  }
  /// Breaks all connections.
  void cut_all() {
    const std::lock_guard lock(mutex_);
    for (Peer* peer : peers_) cut(*peer);
  }
  void kick_all(const std::string& code, bool terminal) {
    const std::lock_guard lock(mutex_);
    for (Peer* peer : peers_)
      if (peer->link) peer->link->down.push_back({0, replica::Kick{code, terminal, ""}});
    flush_all();
  }
  /// Decides the fate of every request; called under the lock.
  std::function<Fate(const pb::ClientFrame&)> fate = [](const pb::ClientFrame&) { return Fate::answer; };
  std::atomic<int> accepted{0};

 private:
  using tcp = boost::asio::ip::tcp;
  struct Peer {
    explicit Peer(tcp::socket s) : socket(std::move(s)) {}
    tcp::socket socket;
    std::optional<TlsFilter> tls;
    Dialect dialect = Dialect::binary;
    replica::TestLink* link = nullptr;
  };

  void accept_all() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (stopping_) return;
      if (error) continue;
      socket.set_option(tcp::no_delay(true), error);
      ++accepted;
      connections_.emplace_back([this, s = std::move(socket)]() mutable { serve(std::move(s)); });
    }
  }

  static void cut(Peer& peer) {
    boost::system::error_code ignored;
    peer.socket.shutdown(tcp::socket::shutdown_both, ignored);
  }

  bool read(Peer& peer, std::string& in) {
    std::array<char, 4096> buffer;
    boost::system::error_code error;
    const std::size_t size = peer.socket.read_some(boost::asio::buffer(buffer), error);
    if (error) return false;
    if (!peer.tls) {
      in.append(buffer.data(), size);
      return true;
    }
    const std::lock_guard lock(mutex_);  // others write through the same filter
    std::string out;
    const bool good = peer.tls->feed({buffer.data(), size}, in, out).has_value();
    boost::asio::write(peer.socket, boost::asio::buffer(out), error);
    return good && !error;
  }

  static bool write(Peer& peer, std::string bytes) {
    if (peer.tls) {
      std::string cipher;
      if (!peer.tls->encrypt(bytes, cipher)) return false;
      bytes = std::move(cipher);
    }
    boost::system::error_code error;
    boost::asio::write(peer.socket, boost::asio::buffer(bytes), error);
    return !error;
  }

  void serve(tcp::socket socket) {
    Peer peer(std::move(socket));
    if (tls_) peer.tls.emplace(*tls_);
    {
      const std::lock_guard lock(mutex_);
      peers_.push_back(&peer);
    }
    converse(peer);
    const std::lock_guard lock(mutex_);
    peers_.remove(&peer);
    if (peer.link) rules_.disconnect(*peer.link);
    boost::system::error_code ignored;
    peer.socket.close(ignored);
  }

  void converse(Peer& peer) {
    std::string in;
    if (!upgrade(peer, in)) return;
    WebSocketCodec codec(WebSocketCodec::Role::server);
    for (;;) {
      std::span<char> input(in);
      for (WebSocketEvent event = codec.next(input); event; event = codec.next(input)) {
        if (event.kind == WebSocketEvent::Kind::close || event.kind == WebSocketEvent::Kind::error) return;
        if (event.kind != WebSocketEvent::Kind::text && event.kind != WebSocketEvent::Kind::binary) continue;
        if (!handle(peer, event.data)) return;
      }
      in.clear();
      if (!read(peer, in)) return;
    }
  }

  bool upgrade(Peer& peer, std::string& in) {
    HttpParser parser;
    for (;;) {
      if (!read(peer, in)) return false;
      std::string_view rest = in;
      const HttpProgress progress = parser.feed(rest);
      in.erase(0, in.size() - rest.size());
      if (progress == HttpProgress::need_more) continue;
      if (progress != HttpProgress::ready) return false;
      const std::array protocols{subprotocol_of(Dialect::binary), subprotocol_of(Dialect::json)};
      const auto accept = accept_upgrade(parser.take(), protocols);
      if (!accept) return false;
      peer.dialect = *dialect_named(accept->protocol);
      const std::lock_guard lock(mutex_);
      return write(peer, accept->response);
    }
  }

  bool handle(Peer& peer, std::string_view bytes) {
    const auto frame = decode_client_frame(peer.dialect, bytes);
    TM_CHECK(frame.has_value(), "the client's frames are well formed");
    const std::lock_guard lock(mutex_);
    const Fate what = fate(*frame);
    if (what == Fate::cut_before) return false;
    if (frame->has_hello()) peer.link = &rules_.connect(UserId(frame->hello().token()));
    if (!peer.link) return false;
    rules_.receive(*peer.link, request_of(*frame));
    if (what == Fate::cut_after) return false;
    flush_all();
    return true;
  }

  static replica::Request request_of(const pb::ClientFrame& frame) {
    replica::Request request{frame.id(), replica::Ack{}};
    switch (frame.operation_case()) {
      case pb::ClientFrame::kHello: {
        const auto login = login_from(frame.hello());
        TM_CHECK(login.has_value(), "a hello is well formed");
        request.operation = replica::Hello{login->device, login->install, login->cursor, login->generation,
                                           frame.hello().next_mutation()};
        break;
      }
      case pb::ClientFrame::kSync: {
        const auto query = sync_from(frame.sync());
        TM_CHECK(query.has_value(), "a sync is well formed");
        request.operation =
            replica::Sync{query->cursor, query->p0, query->p0_round,          query->below, query->limit, query->bodies,
                          query->recent, 0,         frame.sync().page_token()};
        break;
      }
      case pb::ClientFrame::kConversationSync: {
        const auto query = conversation_sync_from(frame.conversation_sync());
        request.operation = replica::ConversationSync{query.conversation, query.after,        query.known,
                                                      query.limit,        query.touch_cursor, query.to};
        break;
      }
      case pb::ClientFrame::kJumps:
        request.operation = replica::Jumps{held_lines_from(frame.jumps())};
        break;
      case pb::ClientFrame::kHistory: {
        const auto query = history_from(frame.history());
        TM_CHECK(query.has_value(), "a history question is well formed");
        request.operation = replica::History{query->conversation, query->before, query->after, query->limit};
        break;
      }
      case pb::ClientFrame::kSend: {
        const auto command = send_from(frame.send());
        TM_CHECK(command.has_value(), "a send is well formed");
        request.operation =
            replica::Send{command->to,   command->conversation, command->client_msg_id, command->client_time,
                          command->body, command->reply_to,     command->mentions,      command->priority};
        break;
      }
      case pb::ClientFrame::kMutate: {
        const auto command = mutate_from(frame.mutate());
        TM_CHECK(command.has_value(), "a change is well formed");
        request.operation = replica::Mutate{std::visit(
            [&](const auto& change) {
              replica::MutationItem item = item_of(change);
              item.number = command->number;
              if constexpr (requires { change.conversation; }) item.conversation = change.conversation;
              return item;
            },
            command->change)};
        break;
      }
      case pb::ClientFrame::kHeartbeat:
        request.operation = replica::Heartbeat{};
        break;
      default:
        if (frame.has_body())
          request.operation = ask_body_of(frame.body().message_id());
        else if (frame.has_receipts())
          request.operation =
              replica::AskReceipts{ConversationId(frame.receipts().conversation_id()), frame.receipts().watch()};
        else if (frame.has_reactions())
          request.operation = replica::AskReactions{reactions_from(frame.reactions()), frame.reactions().page_token()};
        else if (frame.has_members())
          request.operation = replica::AskMembers{ConversationId(frame.members().conversation_id()),
                                                  frame.members().limit(), frame.members().page_token()};
        else if (const auto asked = device_request_of(frame))
          request.operation = replica::DeviceCall{*asked};
        else if (const auto call = group_request_of(frame))
          request.operation = replica::GroupCall{*call};
    }
    return request;
  }

  static replica::AskBody ask_body_of(const std::string& name) {
    const auto parsed = parse_message_id(name);
    return parsed ? replica::AskBody{parsed->conversation, parsed->seq} : replica::AskBody{};
  }

  static std::optional<replica::DeviceRequest> device_request_of(const pb::ClientFrame& frame) {
    switch (frame.operation_case()) {
      case pb::ClientFrame::kDevices:
        return replica::DevicesQuery{};
      case pb::ClientFrame::kChangeDevice:
        return change_device_from(frame.change_device()).value();
      case pb::ClientFrame::kLogout:
        return replica::Logout{};
      case pb::ClientFrame::kLogoutOthers:
        return replica::LogoutOthers{};
      case pb::ClientFrame::kRemoveDevice:
        return replica::RemoveDevice{DeviceId(frame.remove_device().device())};
      default:
        return std::nullopt;
    }
  }

  static std::optional<replica::GroupRequest> group_request_of(const pb::ClientFrame& frame) {
    switch (frame.operation_case()) {
      case pb::ClientFrame::kGroup:
        return replica::GroupQuery{ConversationId(frame.group().conversation_id())};
      case pb::ClientFrame::kCreateGroup:
        return create_group_from(frame.create_group());
      case pb::ClientFrame::kAddMembers:
        return add_members_from(frame.add_members());
      case pb::ClientFrame::kRemoveMember:
        return remove_member_from(frame.remove_member());
      case pb::ClientFrame::kJoinGroup:
        return JoinGroupCommand{{}, {}, ConversationId(frame.join_group().conversation_id())};
      case pb::ClientFrame::kChangeGroup:
        return change_group_from(frame.change_group()).value();
      case pb::ClientFrame::kSetRole:
        return set_role_from(frame.set_role()).value();
      case pb::ClientFrame::kMuteMember:
        return mute_member_from(frame.mute_member()).value();
      case pb::ClientFrame::kDissolveGroup:
        return DissolveGroupCommand{{}, {}, ConversationId(frame.dissolve_group().conversation_id())};
      default:
        return std::nullopt;
    }
  }

  static replica::MutationItem item_of(const ReadCommand& read) { return kind(replica::MutationKind::read, read.seq); }
  static replica::MutationItem item_of(const MarkUnreadCommand&) { return kind(replica::MutationKind::mark_unread); }
  static replica::MutationItem item_of(const RecallCommand& recall) {
    return kind(replica::MutationKind::recall, recall.seq);
  }
  static replica::MutationItem item_of(const EditCommand& edit) {
    replica::MutationItem item = kind(replica::MutationKind::edit, edit.seq);
    item.body = edit.body;
    item.base_revision = edit.base_revision;
    return item;
  }
  static replica::MutationItem item_of(const ReactCommand& react) {
    replica::MutationItem item = kind(replica::MutationKind::react, react.seq);
    item.name = react.reaction;
    item.on = react.on;
    return item;
  }
  static replica::MutationItem item_of(const ClearCommand& clear) {
    return kind(replica::MutationKind::clear, clear.seq);
  }
  static replica::MutationItem item_of(const RemoveCommand& remove) {
    return kind(replica::MutationKind::remove, remove.seq);
  }
  static replica::MutationItem item_of(const DeleteForMeCommand& gone) {
    replica::MutationItem item = kind(replica::MutationKind::delete_for_me);
    item.ranges = gone.ranges;
    return item;
  }
  static replica::MutationItem item_of(const MuteCommand& mute) {
    replica::MutationItem item = kind(replica::MutationKind::mute);
    item.until = mute.until;
    return item;
  }
  static replica::MutationItem item_of(const PinCommand& pin) {
    replica::MutationItem item = kind(replica::MutationKind::pin);
    item.on = pin.pinned;
    return item;
  }
  static replica::MutationItem item_of(const DraftCommand& draft) {
    replica::MutationItem item = kind(replica::MutationKind::draft, draft.reply_to);
    item.body = draft.body;
    return item;
  }
  static replica::MutationItem item_of(const SettingCommand& setting) {
    replica::MutationItem item = kind(replica::MutationKind::setting);
    item.name = setting.name;
    item.value = setting.value;
    return item;
  }
  static replica::MutationItem item_of(const BlockCommand& block) {
    replica::MutationItem item = kind(replica::MutationKind::block);
    item.name = block.other.value;
    item.on = block.blocked;
    return item;
  }
  static replica::MutationItem kind(replica::MutationKind kind, Seq seq = {}) {
    replica::MutationItem item;
    item.kind = kind;
    item.seq = seq;
    return item;
  }

  void flush_all() {
    for (Peer* peer : peers_) {
      if (!peer->link) continue;
      while (!peer->link->down.empty()) {
        write(*peer, peer->link->down.front());
        peer->link->down.pop_front();
      }
    }
  }

  static void write(Peer& peer, const replica::ServerFrame& frame) {
    pb::ServerFrame out;
    out.set_id(frame.id);
    std::visit([&](const auto& answer) { put(answer, out); }, frame.answer);
    std::string payload;
    encode_server_frame(peer.dialect, out, payload);
    std::string bytes;
    encode_frame(bytes, peer.dialect == Dialect::json ? WebSocketOpcode::text : WebSocketOpcode::binary, payload);
    write(peer, std::move(bytes));
  }

  static void put(const replica::Unknown&, pb::ServerFrame&) {}
  static void put(const replica::PresenceStates&, pb::ServerFrame&) {}
  static void put(const replica::PassingEvent&, pb::ServerFrame&) {}
  static void put(const Error& error, pb::ServerFrame& out) { to_pb(error, *out.mutable_error()); }
  static void put(const replica::Welcome& welcome, pb::ServerFrame& out) {
    pb::Welcome& made = *out.mutable_welcome();
    made.set_session_generation(welcome.generation);
    made.set_mode(static_cast<pb::Mode>(welcome.mode));
    to_pb(welcome.head, *made.mutable_head());
    made.set_behind(welcome.behind);
    made.set_highest_mutation(welcome.highest_mutation);
    made.set_server_time(welcome.server_time);
    made.set_user(welcome.user.value);
    made.set_device(welcome.device.value);
    made.set_heads_wanted(welcome.heads_wanted);
  }
  static void put(const replica::SyncAnswer& answer, pb::ServerFrame& out) {
    to_pb(answer.page, *out.mutable_sync());
    out.mutable_sync()->set_page_token(answer.page_token);
  }
  static void put(const ConversationPage& page, pb::ServerFrame& out) { to_pb(page, *out.mutable_conversation_sync()); }
  static void put(const JumpsAnswer& jumps, pb::ServerFrame& out) { to_pb(jumps, *out.mutable_jumps()); }
  static void put(const HistoryPage& page, pb::ServerFrame& out) { to_pb(page, *out.mutable_history()); }
  static void put(const SentReply& reply, pb::ServerFrame& out) { to_pb(reply, *out.mutable_sent()); }
  static void put(const MutatedReply& reply, pb::ServerFrame& out) { to_pb(reply, *out.mutable_mutated()); }
  static void put(const GroupReply& reply, pb::ServerFrame& out) { to_pb(reply, *out.mutable_group()); }
  static void put(const std::vector<replica::UserDevice>& devices, pb::ServerFrame& out) {
    for (const replica::UserDevice& device : devices) {
      pb::Device& made = *out.mutable_devices()->add_devices();
      made.set_device(device.id.value);
      made.set_name(device.name);
      made.set_state(static_cast<pb::DeviceState>(device.state));
      made.set_push(device.push);
      made.set_current(device.current);
    }
  }
  static void put(const replica::ListedMembers& listed, pb::ServerFrame& out) {
    for (const auto& [member, muted_until] : listed.members) {
      pb::GroupMember& made = *out.mutable_members()->add_members();
      made.set_user(member.user.value);
      made.set_role(static_cast<pb::Role>(member.role));
      made.set_joined_seq(member.join.value);
      made.set_muted_until(muted_until);
    }
    out.mutable_members()->set_page_token(listed.page_token);
  }
  static void put(const replica::WhoReacted& answer, pb::ServerFrame& out) {
    to_pb(ReactionsPage{answer.users, {}}, *out.mutable_reactions());
    out.mutable_reactions()->set_page_token(answer.page_token);
  }
  static void put(const replica::WholeBody& whole, pb::ServerFrame& out) {
    Entry entry;
    entry.seq = whole.seq;
    entry.revision = whole.revision;
    entry.body = whole.body;
    to_pb(entry, whole.conversation, *out.mutable_body());
  }
  static void put(const Receipts& receipts, pb::ServerFrame& out) { to_pb(receipts, *out.mutable_receipts()); }
  static void put(const replica::HeartbeatAnswer& answer, pb::ServerFrame& out) {
    out.mutable_heartbeat()->set_head(answer.head.value);
    out.mutable_heartbeat()->set_server_time(answer.server_time);
    out.mutable_heartbeat()->set_heads_wanted(answer.heads_wanted);
  }
  static void put(const HeadsPage& page, pb::ServerFrame& out) { to_pb(page, *out.mutable_heads()); }
  static void put(const replica::HeadNotice&, pb::ServerFrame&) {}
  static void put(const replica::Push& push, pb::ServerFrame& out) {
    for (const PushItem& item : push.items) {
      pb::PushItem& made = *out.mutable_push()->add_items();
      header_to_pb(item, made);
      if (!item.entry) continue;
      made.set_conversation_id(item.conversation.value);
      made.set_after(item.entry->seq.value - 1);
      made.set_to(item.entry->seq.value);
      to_pb(*item.entry, item.conversation, *made.mutable_entry());
    }
  }
  static void put(const replica::Hint& hint, pb::ServerFrame& out) { out.mutable_hint()->set_head(hint.head.value); }
  static void put(const replica::Kick& kick, pb::ServerFrame& out) {
    out.mutable_kick()->set_code(kick.code);
    out.mutable_kick()->set_terminal(kick.terminal);
  }

  const std::unique_ptr<TlsContext> tls_;
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::mutex mutex_;
  replica::TestServer rules_;
  std::list<Peer*> peers_;
  std::atomic<bool> stopping_{false};
  std::list<std::thread> connections_;
  std::thread thread_;
};

}  // namespace tidemark
