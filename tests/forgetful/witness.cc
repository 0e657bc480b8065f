#include "forgetful/witness.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/conversation_id.h"

namespace tidemark::testing {
namespace {

constexpr int kUsers = 4;
constexpr std::size_t kOpenAtOnce = 8;
constexpr std::size_t kLongText = 6'000;
constexpr std::size_t kComplaintsAtMost = 20;
constexpr std::uint32_t kPage = 200;
constexpr std::size_t kSeenAgain = 50;  // rows, of what was shown before

std::string witness_name(int user) {
  return "w" + std::to_string(user);
}

std::string chat_of(int user) {
  return single_conversation(UserId(witness_name(user)), UserId(witness_name((user + 1) % kUsers))).value;
}

bool is_in(int user, const std::string& conversation, const std::string& group) {
  return conversation == group || conversation == chat_of(user) ||
         conversation == chat_of((user + kUsers - 1) % kUsers);
}

std::string place_of(const std::string& conversation, std::uint64_t seq) {
  return conversation + ":" + std::to_string(seq);
}

/// Long texts end with many dots, and are kept by their number.
std::string shortened(const std::string& text) {
  const std::size_t end = text.find_last_not_of('.') + 1;
  return text.substr(0, end) + (end < text.size() ? " +" + std::to_string(text.size() - end) : "");
}

}  // namespace

// ------------------------------------------------------------------------------------------- a user

void WitnessUser::work(int port, const std::string& token) {
  new_.clear();
  for (Open& message : open) message.again = true;
  try {
    WsClient client(port, number_ % 2 == 0 ? Dialect::binary : Dialect::json);
    const pb::ServerFrame welcome = client.hello(token, {.device = "phone"});
    if (!welcome.has_welcome()) {
      if (!welcome.error().retryable()) complaints.push_back("a login is refused: " + welcome.ShortDebugString());
      return;
    }
    while (exchange(client) && read_some(client) && take_back_one(client)) continue;
  } catch (const std::exception&) {
    // The server was killed: this is how most lives end.
  }
}

/// Whether the server still takes something.
bool WitnessUser::taken(const pb::ServerFrame& answer) {
  if (!answer.has_error()) return true;
  if (!answer.error().retryable()) complaints.push_back("a refusal without a reason: " + answer.ShortDebugString());
  return false;
}

/// Some of the texts are long, to fill the overlays of the store.
WitnessUser::Open WitnessUser::fresh() {
  const int count = ++count_;
  std::string text = witness_name(number_) + " says " + std::to_string(count);
  if (count % 4 == 0) text.resize(kLongText, '.');
  if (count % 2 == 0) return {"", group_, text, new_id()};
  return {witness_name((number_ + 1) % kUsers), "", text, new_id()};
}

/// Posts all at once and notes what is answered, also when the server dies meanwhile.
bool WitnessUser::exchange(WsClient& client) {
  while (open.size() < kOpenAtOnce) open.push_back(fresh());
  std::vector<std::uint64_t> posted;
  try {
    for (const Open& message : open) {
      pb::ClientFrame frame = send_frame(message.to, message.text, message.id);
      frame.mutable_send()->set_conversation_id(message.conversation);
      posted.push_back(client.post(frame));
    }
    client.wait_until([&] { return client.arrived(posted.back()).has_value(); });
  } catch (const std::exception&) {
  }
  bool going = !client.closed() && posted.size() == open.size();
  std::vector<Open> unanswered;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto answer = i < posted.size() ? client.arrived(posted[i]) : std::nullopt;
    if (answer && answer->has_sent()) {
      if (!open[i].again) new_.push_back(told.size());
      told.push_back({.conversation = answer->sent().conversation_id(),
                      .text = shortened(open[i].text),
                      .sender = witness_name(number_),
                      .seq = answer->sent().seq(),
                      .server_time = answer->sent().server_time()});
    } else {
      unanswered.push_back(open[i]);
    }
    going = answer && taken(*answer) && going;
  }
  open = std::move(unanswered);
  return going;
}

bool WitnessUser::read_some(WsClient& client) {
  if (told.empty()) return true;
  const Witnessed& last = told.back();
  pb::ClientFrame frame;
  frame.mutable_mutate()->set_number(1);
  frame.mutable_mutate()->mutable_read()->set_conversation_id(last.conversation);
  frame.mutable_mutate()->mutable_read()->set_seq(last.seq - last.seq / 4);
  const pb::ServerFrame answer = client.call(frame);
  if (!taken(answer)) return false;
  std::uint64_t& reached = read_acked[last.conversation];
  reached = std::max(reached, answer.mutated().read_seq());
  return true;
}

/// Of the messages of this life of the server only: older rows change no more, and need no second look.
bool WitnessUser::take_back_one(WsClient& client) {
  if (new_.empty()) return true;
  Witnessed& message = told[new_[new_.size() / 2]];
  if (message.recall != Witnessed::Recall::none) return true;
  message.recall = Witnessed::Recall::asked;
  if (!taken(client.recall(message.conversation, message.seq))) return false;
  message.recall = Witnessed::Recall::acknowledged;
  return true;
}

// ------------------------------------------------------------------------------------------- all of them

Witness::Witness(ServerProcess& server) {
  WsClient first(server.port(), Dialect::binary);
  first.hello(server.token(witness_name(0)));
  pb::ClientFrame create;
  create.mutable_create_group()->set_title("all");
  for (int i = 1; i < kUsers; ++i) create.mutable_create_group()->add_members(witness_name(i));
  group_ = first.call(create).group().conversation_id();
  for (int i = 0; i < kUsers; ++i) {
    users_.emplace_back(i, group_);
    tokens_.push_back(server.token(witness_name(i)));
  }
}

void Witness::work(int port) {
  std::vector<std::thread> threads;
  threads.reserve(kUsers);
  for (std::size_t i = 0; i < kUsers; ++i)
    threads.emplace_back([&user = users_[i], &token = tokens_[i], port] { user.work(port, token); });
  for (std::thread& each : threads) each.join();
}

std::size_t Witness::acknowledged() const {
  std::size_t sum = 0;
  for (const WitnessUser& user : users_) sum += user.told.size();
  return sum;
}

std::size_t Witness::recalled() const {
  std::size_t sum = 0;
  for (const WitnessUser& user : users_)
    sum += static_cast<std::size_t>(std::ranges::count(user.told, Witnessed::Recall::acknowledged, &Witnessed::recall));
  return sum;
}

void Witness::complain(const std::string& what) {
  if (complaints_.size() < kComplaintsAtMost) complaints_.push_back(what);
}

std::vector<std::string> Witness::check(ServerProcess& server, Extent extent) {
  complaints_.clear();
  std::vector<WsClient> clients;
  for (int i = 0; i < kUsers; ++i) {
    WitnessUser& user = users_[static_cast<std::size_t>(i)];
    for (const std::string& each : std::exchange(user.complaints, {})) complain(each);
    WsClient& client = clients.emplace_back(server.port(), Dialect::binary);
    const pb::ServerFrame welcome = client.hello(tokens_[static_cast<std::size_t>(i)], {.device = "check"});
    if (welcome.has_welcome()) continue;
    complain(witness_name(i) + " is not let in: " + welcome.ShortDebugString());
    return std::exchange(complaints_, {});
  }
  check_rows(clients[0], group_, extent);
  for (int i = 0; i < kUsers; ++i) check_rows(clients[static_cast<std::size_t>(i)], chat_of(i), extent);
  for (int i = 0; i < kUsers; ++i) check_numbers(clients[static_cast<std::size_t>(i)], i);
  count_copies(extent);
  checked_.resize(users_.size());
  for (std::size_t i = 0; i < users_.size(); ++i) {
    check_told(users_[i], extent == Extent::news ? checked_[i] : 0);
    checked_[i] = users_[i].told.size();
  }
  return std::exchange(complaints_, {});
}

/// Fetches rows; numbers are dense, ord counts the messages, times never go back, and nothing that was shown before is
/// another thing now.
void Witness::check_rows(WsClient& client, const std::string& conversation, Extent extent) {
  Rows& rows = rows_[conversation];
  const std::size_t from = extent == Extent::everything ? 0 : rows.size() - std::min(rows.size(), kSeenAgain);
  const Rows known(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end());
  rows.resize(from);
  pb::ClientFrame request;
  request.mutable_history()->set_conversation_id(conversation);
  request.mutable_history()->set_limit(kPage);
  for (;;) {
    request.mutable_history()->set_after(rows.size());
    const pb::ServerFrame answer = client.call(request);
    // A chat begins with its first message; whether one is missing is seen below.
    if (code_of(answer) == "CONVERSATION_NOT_FOUND") break;
    if (!answer.has_history()) return complain(conversation + " is not shown: " + answer.ShortDebugString());
    if (answer.history().messages().empty()) break;
    for (const pb::Message& row : answer.history().messages()) {
      const std::uint64_t ord = (rows.empty() ? 0 : rows.back().ord) + (row.kind() == pb::KIND_MESSAGE ? 1 : 0);
      const std::string place = place_of(conversation, row.seq());
      if (row.seq() != rows.size() + 1) return complain(place + " comes behind " + std::to_string(rows.size()));
      if (row.ord() != ord) complain(place + " has ord " + std::to_string(row.ord()) + ", not " + std::to_string(ord));
      if (!rows.empty() && row.server_time() < rows.back().server_time)
        complain(place + " is older than the one before");
      const bool live = row.state() == pb::STATE_LIVE;
      if (!live && row.has_body()) complain(place + " was taken back and has a body");
      rows.push_back({row.kind(), row.sender(), shortened(row.body().text()), ord, live, row.server_time()});
    }
  }
  const std::size_t before = from + known.size();
  if (rows.size() < before)
    complain(conversation + " ends with " + std::to_string(rows.size()) + ", and had " + std::to_string(before));
  for (std::size_t i = from; i < std::min(rows.size(), before); ++i)
    if (rows[i] != known[i - from]) complain(place_of(conversation, i + 1) + " is not what it was");
}

/// No text is there twice.
void Witness::count_copies(Extent extent) {
  if (extent == Extent::everything) {
    counted_.clear();
    copies_.clear();
  }
  for (const auto& [conversation, rows] : rows_) {
    for (std::size_t& i = counted_[conversation]; i < rows.size(); ++i) {
      if (!rows[i].live || rows[i].kind != pb::KIND_MESSAGE || ++copies_[rows[i].text] == 1) continue;
      complain(rows[i].text + " is there a second time, at " + place_of(conversation, i + 1));
    }
  }
}

/// Each acknowledged message is there under its number, and once; each acknowledged recall has been.
void Witness::check_told(const WitnessUser& user, std::size_t from) {
  for (const Witnessed& message : std::span(user.told).subspan(from)) {
    const std::string place = place_of(message.conversation, message.seq);
    const std::string name = message.text + " (" + place + ")";
    const Rows& rows = rows_[message.conversation];
    if (message.seq > rows.size()) {
      complain(name + " was acknowledged and is gone");
      continue;
    }
    const Row& row = rows[message.seq - 1];
    if (row.kind != pb::KIND_MESSAGE || row.sender != message.sender || row.server_time != message.server_time)
      complain(name + " was acknowledged, and another thing has its number");
    else if (row.live && row.text != message.text)
      complain(name + " has another text");
    else if (row.live && message.recall == Witnessed::Recall::acknowledged)
      complain(name + " was taken back and is there again");
    else if (!row.live && message.recall == Witnessed::Recall::none)
      complain(name + " is taken back, and nobody has asked for it");
    if (!row.live && copies_.contains(message.text)) complain(name + " is there a second time");
  }
}

/// Heads, unread numbers and read pointers, counted again.
void Witness::check_numbers(WsClient& client, int user) {
  const std::string name = witness_name(user);
  for (const auto& [conversation, rows] : rows_) {
    if (!is_in(user, conversation, group_) || rows.empty()) continue;
    pb::ClientFrame request;
    request.mutable_conversation()->set_conversation_id(conversation);
    const pb::ServerFrame answer = client.call(request);
    if (!answer.has_conversation()) {
      complain(name + " has no " + conversation + ": " + answer.ShortDebugString());
      continue;
    }
    const pb::Change& change = answer.conversation();
    std::uint64_t unread = 0;
    for (std::size_t i = change.read_seq(); i < rows.size(); ++i)
      unread += rows[i].kind == pb::KIND_MESSAGE && rows[i].sender != name && rows[i].live ? 1 : 0;
    const std::string where = name + " in " + conversation;
    if (change.head_seq() != rows.size()) complain(where + ": head " + std::to_string(change.head_seq()));
    if (change.unread_exact() && change.unread() != unread)
      complain(where + ": unread " + std::to_string(change.unread()) + ", not " + std::to_string(unread));
    const auto& read_acked = users_[static_cast<std::size_t>(user)].read_acked;
    const auto acked = read_acked.find(conversation);
    if (acked != read_acked.end() && change.read_seq() < acked->second) complain(where + ": a read pointer went down");
  }
}

}  // namespace tidemark::testing
