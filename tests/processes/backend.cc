#include "processes/backend.h"

#include <fmt/format.h>

#include "tidemark.pb.h"
#include "wire/convert_client.h"

namespace tidemark::testing {
namespace {

std::string body_of(const Post& post) {
  return fmt::format(R"({{"conversation_id":"{}","client_msg_id":"{}","body":{{"text":"{}"}}}})",
                     post.conversation.value, post.client_msg_id, post.text);
}

std::string path_of(const char* kind, const ConversationId& id, const char* more = "") {
  return fmt::format("/v1/{}/{}{}", kind, percent_encode(id.value), more);
}

std::string path_of_message(const ConversationId& id, Seq seq) {
  return "/v1/messages/" + percent_encode(fmt::format("{}:{}", id.value, seq.value));
}

bool done(const HttpResponse& response) {
  return response.status / 100 == 2;
}

}  // namespace

HttpResponse Backend::call(std::string_view method, const std::string& target, const UserId& user,
                           std::string_view body) const {
  HttpClient http(server_.port());
  return http.call(method, target, server_.token(user.value), body);
}

HttpResponse Backend::send(const Post& post) const {
  return call("POST", "/v1/messages", post.sender, body_of(post));
}

HttpResponse Backend::recall(const UserId& author, const ConversationId& conversation, Seq seq) const {
  return call("POST", path_of_message(conversation, seq) + "/recall", author);
}

HttpResponse Backend::edit(const UserId& author, const ConversationId& conversation, Seq seq,
                           const std::string& text) const {
  return call("PATCH", path_of_message(conversation, seq), author, fmt::format(R"({{"body":{{"text":"{}"}}}})", text));
}

HttpClient Backend::begin_send(const Post& post) const {
  HttpClient http(server_.port());
  const std::string body = body_of(post);
  http.write(
      fmt::format("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  server_.token(post.sender.value), body.size(), body));
  return http;
}

ConversationId Backend::create_group(const UserId& owner, const std::vector<UserId>& members,
                                     const std::string& newcomers) const {
  std::string names;
  for (const UserId& member : members) names += (names.empty() ? "\"" : ",\"") + member.value + "\"";
  const HttpResponse response =
      call("POST", "/v1/groups", owner,
           fmt::format(R"({{"title":"G","members":[{}],"history_for_newcomers":"{}","history_last":{}}})", names,
                       newcomers, newcomers == "last" ? 2 : 0));
  return ConversationId(parsed<pb::Group>(response).conversation_id());
}

bool Backend::add(const ConversationId& group, const UserId& by, const UserId& whom) const {
  return done(call("POST", path_of("groups", group, "/members"), by, fmt::format(R"({{"users":["{}"]}})", whom.value)));
}

bool Backend::remove(const ConversationId& group, const UserId& by, const UserId& whom) const {
  return done(call("DELETE", path_of("groups", group, "/members/") + percent_encode(whom.value), by));
}

bool Backend::rename(const ConversationId& group, const UserId& by, const std::string& title) const {
  return done(call("PATCH", path_of("groups", group), by, fmt::format(R"({{"title":"{}"}})", title)));
}

std::vector<Change> Backend::conversations(const UserId& user) const {
  std::vector<Change> all;
  std::string token;
  do {
    const auto page = parsed<pb::ConversationList>(call("GET", "/v1/conversations?limit=20&page_token=" + token, user));
    for (const pb::Change& each : page.conversations()) all.push_back(change_from(each));
    token = page.page_token();
  } while (!token.empty());
  return all;
}

std::vector<Entry> Backend::history(const UserId& user, const ConversationId& conversation) const {
  std::vector<Entry> all;
  std::string query = "?after=0";
  for (;;) {
    const auto page =
        parsed<pb::HistoryPage>(call("GET", path_of("conversations", conversation, "/messages") + query, user));
    for (const pb::Message& row : page.messages()) all.push_back(entry_from(row));
    if (page.end()) return all;
    if (page.page_token().empty()) throw std::runtime_error("a page of history neither ends nor goes on");
    query = "?page_token=" + page.page_token();
  }
}

}  // namespace tidemark::testing
