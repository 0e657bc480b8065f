// What a backend does over HTTP, straight to the server and not through the proxy: it sends and repeats itself, changes
// groups, and asks what a user may see.
#pragma once

#include <string>
#include <vector>

#include "core/results.h"
#include "http_client.h"
#include "server_process.h"

namespace tidemark::testing {

/// A message that is sent again under the same id, whatever was answered.
struct Post {
  UserId sender;
  ConversationId conversation;
  std::string text;
  std::string client_msg_id;
  int left = 1;  // times that it is sent yet
  bool answered = false;
  Seq seq = {};            // then
  std::int64_t at_ms = 0;  // when it is sent next
};

/// Each call has a connection of its own; std::runtime_error when the server does not answer.
class Backend {
 public:
  explicit Backend(const ServerProcess& server) : server_(server) {}

  HttpResponse send(const Post& post) const;
  /// Its author takes a message back, or edits it.
  HttpResponse recall(const UserId& author, const ConversationId& conversation, Seq seq) const;
  HttpResponse edit(const UserId& author, const ConversationId& conversation, Seq seq, const std::string& text) const;
  /// Sends the request and does not wait.
  HttpClient begin_send(const Post& post) const;
  /// The id of the new group.
  ConversationId create_group(const UserId& owner, const std::vector<UserId>& members,
                              const std::string& newcomers) const;
  /// Whether it was done.
  bool add(const ConversationId& group, const UserId& by, const UserId& whom) const;
  bool remove(const ConversationId& group, const UserId& by, const UserId& whom) const;
  bool rename(const ConversationId& group, const UserId& by, const std::string& title) const;

  /// The whole list, newest first.
  std::vector<Change> conversations(const UserId& user) const;
  /// Every row that the user may see, ascending.
  std::vector<Entry> history(const UserId& user, const ConversationId& conversation) const;

 private:
  HttpResponse call(std::string_view method, const std::string& target, const UserId& user,
                    std::string_view body = {}) const;

  const ServerProcess& server_;
};

}  // namespace tidemark::testing
