// HTTP requests to operations and back. Network thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/auth.h"
#include "gateway/service.h"
#include "wire/http_parser.h"

namespace tidemark {

inline constexpr std::string_view kWebSocketPath = "/v1/ws";

/// The body of a refused request.
std::string error_body(const Error& error);

/// An HTTP answer that owns its parts.
struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

class HttpApi {
 public:
  struct Host {
    std::function<Result<Principal>(std::string_view token)> user;
    std::function<Result<Principal>(std::string_view token)> admin;
    std::function<Result<std::string>()> ready;  // a warning or ""; or what stands in the way, in one sentence
    std::function<std::string()> metrics;
    std::string openapi;
  };
  HttpApi(Service& service, Host host) : service_(service), host_(std::move(host)) {}

  void handle(const HttpRequest& request, std::move_only_function<void(HttpAnswer)> answer);
  static HttpAnswer refusal(const Error& error, std::string allow = {});
  /// A refusal with status 426, which says what to upgrade to.
  static HttpAnswer upgrade_required(const Error& error);
  /// The token of an Authorization header, "" when there is none.
  static std::string_view bearer_of(const HttpRequest& request);

 private:
  Result<Caller> caller_of(const HttpRequest& request, bool admin) const;

  Service& service_;
  const Host host_;
};

}  // namespace tidemark
