// One user's chat on one device, without a face: the client library, and the commands that a chat takes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tidemark/chat_store.h"
#include "apps/tidemark/client_flags.h"
#include "apps/tidemark/http_calls.h"
#include "client/client.h"

namespace tidemark {

/// What a command came to, for the face to show.
struct CommandOutcome {
  std::string notice;                       // one sentence
  std::vector<std::string> help = {};       // asked for by /help
  std::optional<ConversationId> open = {};  // the conversation to look at from now on
  bool quit = false;
  std::optional<Seq> changing = {};  // the message of the open conversation whose change is on its way
};

/// All but wake() belongs to one thread.
class ChatSession {
 public:
  /// Begins to connect.
  static Result<std::unique_ptr<ChatSession>> start(const Access& access, ChatStore store);
  ~ChatSession();

  Client& client() { return *client_; }
  const UserId& user() const { return user_; }
  const std::string& device() const { return store_.device; }
  /// Where messages that are not sent yet wait; "" in memory.
  const std::string& store_path() const { return store_.path; }
  /// The newest row of a conversation that was held when the chat began; 0 without one.
  Seq held_at_start(const ConversationId& conversation) const;

  /// Readable when events wait.
  int descriptor() const { return wake_; }
  std::vector<ClientEvent> take_events();

  /// Why no server answers now, in a sentence that says what to do; "" when one does.
  std::string server_trouble() const;

  /// The conversation with a user, or the one that is named: "bob", "group_1", "alice_bob".
  ConversationId conversation_of(std::string_view name) const;
  /// Sends to a conversation, which need not exist yet if it is a single chat; returns the message's local id.
  Result<std::uint64_t> send(const ConversationId& conversation, const std::string& text);
  /// Takes a line such as "/to bob". `open` is the conversation that is looked at.
  CommandOutcome command(std::string_view line, const std::optional<ConversationId>& open);

 private:
  ChatSession(HttpCalls calls, UserId user, ChatStore store);
  void wake(const ClientEvent& event);
  CommandOutcome delete_for_me(const std::vector<std::string>& words, const ConversationId& open);
  CommandOutcome hide(std::string_view verb, const ConversationId& open);
  CommandOutcome set_own(std::string_view verb, const std::vector<std::string>& words, const ConversationId& open);
  CommandOutcome create_group(const std::vector<std::string>& words);
  // Of groups (chat_groups.cc).
  static bool is_of_group(std::string_view verb);
  CommandOutcome join_group(const std::vector<std::string>& words);
  CommandOutcome of_group(const std::vector<std::string>& words, const ConversationId& open);
  std::string members_of(const std::string& group) const;
  std::string change_of_group(const std::vector<std::string>& words, const std::string& group) const;
  /// Whether all that was written to it has been answered, waiting a little.
  bool wait_until_sent(const ConversationId& conversation) const;
  Seq last_message(const ConversationId& conversation, bool own) const;
  Seq last_own(const ConversationId& conversation) const;
  CommandOutcome react(const std::vector<std::string>& words, const ConversationId& open);
  CommandOutcome recall(const std::vector<std::string>& words, const ConversationId& open);
  CommandOutcome edit(std::string_view line, const ConversationId& open);
  CommandOutcome settle_outbox(std::string_view verb, const ConversationId& open);
  std::string call(const CallOptions& options, std::string done, std::string* answer = nullptr) const;

  HttpCalls calls_;
  UserId user_;
  ChatStore store_;
  int wake_ = -1;
  std::mutex mutex_;
  std::vector<ClientEvent> events_;  // under mutex_
  std::unique_ptr<Client> client_;   // last: its thread calls wake()
};

}  // namespace tidemark
