// An application that listens to Tidemark's hooks (docs/hooks.md), with nothing of Tidemark in it: it checks the
// signature, drops what it has seen, says what it thinks of a message, and turns notifications into requests shaped as
// FCM (Android) and APNs (iOS) want them. They are printed, not sent: keys and certificates are the application's own.
//
//     hook_receiver PORT SECRET      prints its address once it listens; PORT 0 takes a free one
//
//     tidemark serve --set hooks.url=http://127.0.0.1:PORT/events --set hooks.secret=SECRET
//                    --set hooks.before_send_url=http://127.0.0.1:PORT/before_send
//                    --set hooks.notify_url=http://127.0.0.1:PORT/notify
#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>

using simdjson::dom::element;

namespace {

// ------------------------------------------------------------------------------------------- who is it?

std::string hmac_hex(const std::string& secret, const std::string& text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[mac[i] >> 4];
    hex += "0123456789abcdef"[mac[i] & 15];
  }
  return hex;
}

struct Request {
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// Whether the request is Tidemark's and fresh. Nothing of it is looked at before.
bool from_tidemark(const std::string& secret, Request& request) {
  const std::string& timestamp = request.headers["tidemark-timestamp"];
  const std::string& given = request.headers["tidemark-signature"];
  constexpr long kFreshSeconds = 300;
  if (std::labs(std::time(nullptr) - std::atol(timestamp.c_str())) > kFreshSeconds) return false;
  const std::string right = "v1=" + hmac_hex(secret, timestamp + "." + request.body);
  return given.size() == right.size() && CRYPTO_memcmp(given.data(), right.data(), right.size()) == 0;
}

// -------------------------------------------------------------------------------- what phones are sent

std::string text_of(element object, const char* name) {
  return std::string(object[name].get_string().value());
}

/// As JSON, with its quotes.
std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
    if (c == '"' || c == '\\')
      json.append("\\").append(1, c);
    else if (static_cast<unsigned char>(c) < 0x20)
      json.append(escape);
    else
      json.append(1, c);
  }
  return json + '"';
}

std::string title_of(element conversation) {
  const std::string title = text_of(conversation, "title");
  return quoted(title.empty() ? text_of(conversation, "sender") : title);
}

/// What the lock screen shows of it.
std::string shown(element conversation) {
  const std::string text = text_of(conversation, "text");
  return quoted(text.empty() ? "New message" : text);
}

/// POST https://fcm.googleapis.com/v1/projects/PROJECT/messages:send
std::string fcm_request(const std::string& token, element conversation) {
  const bool high = text_of(conversation, "priority") == "high" || conversation["mentioned"].get_bool().value();
  return R"({"message":{"token":)" + quoted(token) + R"(,"notification":{"title":)" + title_of(conversation) +
         R"(,"body":)" + shown(conversation) + R"(},"data":{"message_id":)" +
         quoted(text_of(conversation, "message_id")) + R"(},"android":{"priority":")" + (high ? "high" : "normal") +
         R"(","notification":{"tag":)" + quoted(text_of(conversation, "conversation_id")) + "}}}}";
}

/// POST https://api.push.apple.com/3/device/TOKEN, with the conversation as apns-collapse-id
std::string apns_request(element conversation, const std::string& badge) {
  return R"({"aps":{"alert":{"title":)" + title_of(conversation) + R"(,"body":)" + shown(conversation) +
         R"(},"badge":)" + badge + R"(,"thread-id":)" + quoted(text_of(conversation, "conversation_id")) +
         R"(},"message_id":)" + quoted(text_of(conversation, "message_id")) + "}";
}

void notify(element told) {
  const std::string badge = std::to_string(told["badge"].get_uint64().value());
  for (element device : told["devices"].get_array()) {
    const std::string token = text_of(device, "push_token");
    const bool apple = text_of(device, "platform") == "ios";
    const auto print = [&](const std::string& request) {
      std::printf("%s %s %s\n", apple ? "APNs" : "FCM", token.c_str(), request.c_str());
    };
    for (element each : told["conversations"].get_array())
      print(apple ? apns_request(each, badge) : fcm_request(token, each));
    // Taking away is a silent push: the app removes what it shows of these conversations.
    for (element conversation : told["withdrawn"].get_array())
      print(R"({"withdrawn":)" + quoted(std::string(conversation.get_string().value())) + R"(,"badge":)" + badge + "}");
  }
}

// ------------------------------------------------------------------------------------------- answers

class Application {
 public:
  /// The body of the answer.
  std::string answer_to(const Request& request) {
    const element asked = parser_.parse(request.body);
    if (request.path == "/before_send") return verdict_on(text_of(asked["body"], "text"));
    // At least once: whoever has seen it drops it. A real application keeps these in its database for some days.
    if (!seen_.insert(text_of(asked, "id")).second) return "{}";
    if (request.path == "/notify")
      notify(asked);
    else
      std::printf("event %s %s %s\n", text_of(asked, "id").c_str(), text_of(asked, "kind").c_str(),
                  text_of(asked, "conversation_id").c_str());
    std::fflush(stdout);
    return "{}";
  }

 private:
  static std::string verdict_on(const std::string& text) {
    if (text.find("forbidden") == std::string::npos) return "{}";
    return R"({"refused":true,"code":"FORBIDDEN_WORD","reason":"This word is not allowed here."})";
  }

  simdjson::dom::parser parser_;
  std::set<std::string> seen_;
};

// -------------------------------------------------- HTTP as far as an example needs it: one request a connection

bool read_request(int socket, Request& request) {
  std::string bytes;
  std::size_t head = std::string::npos;
  std::size_t wanted = 0;
  while (head == std::string::npos || bytes.size() < head + 4 + wanted) {
    char room[65'536];
    const ssize_t got = ::recv(socket, room, sizeof room, 0);
    if (got <= 0) return false;
    bytes.append(room, static_cast<std::size_t>(got));
    if (head != std::string::npos || (head = bytes.find("\r\n\r\n")) == std::string::npos) continue;
    const std::size_t path = bytes.find(' ') + 1;
    request.path = bytes.substr(path, bytes.find(' ', path) - path);
    for (std::size_t line = bytes.find("\r\n") + 2; line < head; line = bytes.find("\r\n", line) + 2) {
      const std::size_t colon = bytes.find(": ", line);
      std::string name = bytes.substr(line, colon - line);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      request.headers[name] = bytes.substr(colon + 2, bytes.find("\r\n", line) - colon - 2);
    }
    wanted = static_cast<std::size_t>(std::atol(request.headers["content-length"].c_str()));
  }
  request.body = bytes.substr(head + 4);
  return true;
}

void serve(int socket, const std::string& secret, Application& application) {
  Request request;
  if (read_request(socket, request)) {
    const bool known = from_tidemark(secret, request);
    const std::string body = known ? application.answer_to(request) : "{}";
    const std::string answer =
        std::string(known ? "HTTP/1.1 200 OK" : "HTTP/1.1 401 Unauthorized") +
        "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    (void)!::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  ::close(socket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "hook_receiver PORT SECRET\n");
    return 2;
  }
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, generic, &size) != 0) {
    std::perror("hook_receiver");
    return 1;
  }
  std::printf("http://127.0.0.1:%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  Application application;
  for (int socket = 0; (socket = ::accept(listener, nullptr, nullptr)) >= 0;) serve(socket, argv[2], application);
  return 1;
}
