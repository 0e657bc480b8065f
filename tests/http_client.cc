#include "http_client.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "openapi_check.h"
#include "tidemark.pb.h"
#include "wire/json_reader.h"

namespace tidemark::testing {

HttpClient::HttpClient(int port, const TcpOptions& options) : port_(port), options_(options), stream_(port, options) {}

HttpResponse HttpClient::call(std::string_view method, std::string_view target, std::string_view token,
                              std::string_view body, const HeaderList& headers) {
  if (stream_.closed() || closing_) {
    closing_ = false;
    stream_ = TcpStream(port_, options_);
    unread_.clear();
  }
  std::vector<HttpHeaderView> views(headers.begin(), headers.end());
  const std::string bearer = "Bearer " + std::string(token);
  if (!token.empty()) views.emplace_back("Authorization", bearer);
  const std::string host = "127.0.0.1:" + std::to_string(port_);
  write(http_request({.method = method,
                      .host = host,
                      .target = target,
                      .content_type = body.empty() ? "" : "application/json",
                      .body = body,
                      .headers = views}));
  if (method == "HEAD") return read_response(HttpResponseParser::AnswerTo::head);
  HttpResponse response = read_response();
  if (const std::string fault = openapi_fault(method, target, response); !fault.empty())
    ADD_FAILURE() << method << ' ' << target << ", " << response.status
                  << ", is not as the OpenAPI document has it: " << fault << '\n'
                  << response.body.substr(0, 1'000);
  return response;
}

HttpResponse HttpClient::read_response(HttpResponseParser::AnswerTo answer_to) {
  HttpResponseParser parser(answer_to, {.body_bytes = 64U * 1024 * 1024});
  const std::int64_t deadline = steady_ms() + patience_ms();
  for (;;) {
    std::string_view input = unread_;
    HttpProgress progress = parser.feed(input);
    unread_.erase(0, unread_.size() - input.size());
    if (progress == HttpProgress::need_more && stream_.closed()) progress = parser.finish();
    if (progress == HttpProgress::ready) {
      HttpResponse response = parser.take();
      closing_ = !response.keep_alive;
      return response;
    }
    if (progress == HttpProgress::refused) throw std::runtime_error("no proper answer: " + parser.error().message());
    if (stream_.closed()) throw std::runtime_error("the server closed without an answer");
    if (!stream_.read(unread_, deadline - steady_ms()) && !stream_.closed() && steady_ms() >= deadline)
      throw std::runtime_error("no answer in time");
  }
}

void parse_into(const HttpResponse& response, google::protobuf::Message& message) {
  // Sync pages are deep; only the names matter here.
  if (const auto read = read_json(response.body, message, {.max_depth = 32}); !read)
    throw std::runtime_error("status " + std::to_string(response.status) + ", not the answer meant (" +
                             read.error().message() + " " + read.error().field + "): " + response.body.substr(0, 400));
}

namespace {

pb::Error error_of(const HttpResponse& response) {
  pb::ErrorAnswer answer;
  if (!read_json(response.body, answer)) answer.Clear();
  return answer.error();
}

}  // namespace

std::string error_code(const HttpResponse& response) {
  return error_of(response).code();
}
std::string error_field(const HttpResponse& response) {
  return error_of(response).field();
}

}  // namespace tidemark::testing
