// A blocking HTTP client for tests: one connection, one request after the other, and raw bytes where a test is rude.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tcp_stream.h"
#include "wire/http_parser.h"

namespace tidemark::testing {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

class HttpClient {
 public:
  explicit HttpClient(int port, const TcpOptions& options = {});

  /// A request and its answer; connects anew when the server has closed. An empty token sends no Authorization.
  HttpResponse call(std::string_view method, std::string_view target, std::string_view token,
                    std::string_view body = {}, const HeaderList& headers = {});
  HttpResponse get(std::string_view target, std::string_view token) { return call("GET", target, token); }
  HttpResponse post(std::string_view target, std::string_view token, std::string_view body) {
    return call("POST", target, token, body);
  }

  /// Bytes as they are.
  void write(std::string_view bytes) { stream_.write(bytes); }
  /// The next answer on this connection.
  HttpResponse read_response(HttpResponseParser::AnswerTo answer_to = HttpResponseParser::AnswerTo::other);
  TcpStream& stream() { return stream_; }

 private:
  int port_;
  TcpOptions options_;
  TcpStream stream_;
  std::string unread_;
  bool closing_ = false;  // the last answer was the connection's last
};

/// The answer's body as a message of the schema; every field it has must be known.
void parse_into(const HttpResponse& response, google::protobuf::Message& message);
template <typename Message>
Message parsed(const HttpResponse& response) {
  Message message;
  parse_into(response, message);
  return message;
}

/// The code of an error answer ("BAD_TOKEN"), or "" when the body is none.
std::string error_code(const HttpResponse& response);
std::string error_field(const HttpResponse& response);

}  // namespace tidemark::testing
