#include "wire/http_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/check.h"
#include "wire/http_parser_target.h"

namespace tidemark {
namespace {

namespace http = boost::beast::http;
using BeastView = boost::beast::string_view;
using BeastError = boost::beast::error_code;

constexpr std::uint32_t kEndOfHeaderBytes = 4;  // not counted by the limit, but seen by Beast with the rest

std::string_view view(BeastView text) {
  return {text.data(), text.size()};
}

HttpRefusal malformed(std::string field, std::string detail, int status = 400) {
  return {status, Error{ErrorCode::MALFORMED, std::move(field), std::move(detail)}};
}
HttpRefusal too_large(std::string field, std::string detail, int status) {
  return {status, Error{ErrorCode::TOO_LARGE, std::move(field), std::move(detail)}};
}
HttpRefusal header_too_large(const HttpLimits& limits) {
  return too_large("header",
                   "at most " + std::to_string(limits.header_bytes) + " bytes and " + std::to_string(limits.fields) +
                       " fields of header",
                   431);
}

HttpRefusal refusal_of(const BeastError& ec, const HttpLimits& limits) {
  if (ec == http::error::header_limit) return header_too_large(limits);
  if (ec == http::error::body_limit)
    return too_large("body", "at most " + std::to_string(limits.body_bytes) + " bytes of body", 413);
  if (ec == http::error::bad_version) return malformed("version", "only HTTP/1.0 and HTTP/1.1 are spoken here", 505);
  return malformed("http", ec.message());
}

/// Beast's grammar with our limits. Beast bounds each presented piece of a header, not their sum, and reports trailers
/// as fields, so both are watched here.
template <bool IsRequest>
class Grammar : public http::basic_parser<IsRequest> {
 public:
  explicit Grammar(const HttpLimits& limits) : limits_(limits) {
    this->eager(true);
    this->header_limit(limits.header_bytes + kEndOfHeaderBytes);
    this->body_limit(limits.body_bytes);
  }

  /// Presents new bytes behind those kept from before. need_more, ready or refused.
  HttpProgress take_bytes(std::string_view& input) {
    const std::size_t kept_bytes = kept_.size();
    if (kept_bytes > 0) kept_.append(input);
    const std::string_view bytes = kept_bytes > 0 ? kept_ : input;
    // At least "0\r\n\r\n" must still come; Beast asserts that it does not see less of it twice.
    const bool worth_it = !(this->is_header_done() && this->chunked() && bytes.size() < 5);
    BeastError ec;
    const std::size_t used = worth_it ? this->put({bytes.data(), bytes.size()}, ec) : 0;
    if (refused_) return HttpProgress::refused;
    if (ec && ec != http::error::need_more) return refuse(refusal_of(ec, limits_));
    if (this->is_done()) {
      TM_CHECK(used >= kept_bytes, "bytes kept as incomplete were a whole message");
      input.remove_prefix(used - kept_bytes);
      kept_.clear();
      return HttpProgress::ready;
    }
    if (kept_bytes > 0) {
      kept_.erase(0, used);
    } else {
      kept_.assign(input.substr(used));
    }
    input = {};
    if (kept_.size() > limits_.header_bytes + kEndOfHeaderBytes) return refuse(header_too_large(limits_));
    return HttpProgress::need_more;
  }

  HttpProgress refuse(HttpRefusal refusal) {
    refused_ = std::move(refusal);
    std::string().swap(kept_);
    return HttpProgress::refused;
  }
  const HttpRefusal& refusal() const {
    TM_CHECK(refused_.has_value(), "nothing was refused");
    return *refused_;
  }
  bool refused() const { return refused_.has_value(); }

 protected:
  /// Makes put() stop; the reason is what refuse() was given.
  void stop(BeastError& ec, HttpRefusal refusal) {
    refuse(std::move(refusal));
    ec = http::error::bad_value;
  }
  void count_header(std::size_t bytes, BeastError& ec) {
    header_bytes_ += bytes;
    if (header_bytes_ > limits_.header_bytes) stop(ec, header_too_large(limits_));
  }

  void on_field_impl(http::field, BeastView name, BeastView value, BeastError& ec) override {
    if (header_done_) return;
    count_header(name.size() + value.size() + 4, ec);
    if (ec) return;
    if (headers_.all().size() >= limits_.fields) return stop(ec, header_too_large(limits_));
    // Two bodies in the eyes of two readers is how requests are smuggled: only the plain forms are taken.
    if (equal_ignoring_case(view(name), "Transfer-Encoding") && !equal_ignoring_case(view(value), "chunked"))
      return stop(ec, malformed("Transfer-Encoding", "only chunked is understood", 501));
    if (equal_ignoring_case(view(name), "Host") && headers_.has("Host"))
      return stop(ec, malformed("Host", "given twice"));
    headers_.add(view(name), view(value));
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(BeastView bytes, BeastError&) override {
    body_.append(view(bytes));
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError& ec) override {
    return on_body_impl(bytes, ec);
  }
  void on_finish_impl(BeastError&) override {}

  HttpLimits limits_;
  HttpHeaders headers_;
  std::string body_;
  bool header_done_ = false;

 private:
  std::string kept_;  // an unfinished header, or header of a chunk
  std::size_t header_bytes_ = 0;
  std::optional<HttpRefusal> refused_;
};

class RequestGrammar final : public Grammar<true> {
 public:
  using Grammar::Grammar;

  /// True once, when the client waits before sending the body that is asked for.
  bool take_expectation() {
    if (!header_done_ || !expects_ || !body_.empty()) return false;
    expects_ = false;
    return true;
  }
  HttpRequest take() {
    request_.headers = std::move(headers_);
    request_.body = std::move(body_);
    return std::move(request_);
  }

 private:
  void on_request_impl(http::verb, BeastView method, BeastView target, int version, BeastError& ec) override {
    count_header(method.size() + target.size() + 12, ec);
    if (ec) return;
    if (target.size() > limits_.target_bytes)
      return stop(ec, too_large("path", "at most " + std::to_string(limits_.target_bytes) + " bytes of target", 414));
    request_.method = view(method);
    request_.target = view(target);
    is_http_1_1_ = version == 11;
    if (auto read = read_target(request_.target, request_); !read) stop(ec, {400, std::move(read.error())});
  }
  void on_response_impl(int, BeastView, int, BeastError&) override {}

  void on_header_impl(BeastError& ec) override {
    header_done_ = true;
    request_.keep_alive = this->keep_alive();
    request_.is_upgrade = this->upgrade() && headers_.has_token("Upgrade", "websocket");
    if (is_http_1_1_ && !headers_.has("Host")) return stop(ec, malformed("Host", "HTTP/1.1 requires it"));
    if (!is_http_1_1_ && headers_.has("Transfer-Encoding"))
      return stop(ec, malformed("Transfer-Encoding", "not a part of HTTP/1.0"));
    const auto expectation = headers_.get("Expect");
    if (!expectation || !is_http_1_1_) return;
    if (!equal_ignoring_case(*expectation, "100-continue"))
      return stop(ec, malformed("Expect", "only 100-continue is understood", 417));
    expects_ = true;
  }

  HttpRequest request_;
  bool is_http_1_1_ = false;
  bool expects_ = false;
};

class ResponseGrammar final : public Grammar<false> {
 public:
  using Grammar::Grammar;

  bool interim() const { return response_.status / 100 == 1 && response_.status != 101; }
  HttpResponse take() {
    response_.headers = std::move(headers_);
    response_.body = std::move(body_);
    return std::move(response_);
  }

 private:
  void on_request_impl(http::verb, BeastView, BeastView, int, BeastError&) override {}
  void on_response_impl(int code, BeastView reason, int, BeastError& ec) override {
    response_.status = code;
    count_header(reason.size() + 15, ec);
  }
  void on_header_impl(BeastError&) override {
    header_done_ = true;
    response_.keep_alive = this->keep_alive();
  }

  HttpResponse response_;
};

/// Empty lines before a start line are allowed (RFC 9112 section 2.2). Character by character, so that it does not
/// matter where the input was cut.
void skip_empty_lines(std::string_view& input) {
  input.remove_prefix(std::min(input.size(), input.find_first_not_of("\r\n")));
}

}  // namespace

struct HttpParser::Machine {
  explicit Machine(const HttpLimits& limits) : grammar(limits) {}
  RequestGrammar grammar;
};

HttpParser::HttpParser(HttpLimits limits) : limits_(limits) {}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;

HttpProgress HttpParser::feed(std::string_view& input) {
  if (!machine_) skip_empty_lines(input);
  if (!machine_ && input.empty()) return HttpProgress::need_more;
  if (!machine_) machine_ = std::make_unique<Machine>(limits_);
  RequestGrammar& grammar = machine_->grammar;
  if (grammar.refused()) {
    input = {};
    return HttpProgress::refused;
  }
  if (grammar.is_done()) return HttpProgress::ready;
  const HttpProgress progress = grammar.take_bytes(input);
  if (progress == HttpProgress::refused) input = {};
  if (progress == HttpProgress::need_more && grammar.take_expectation()) return HttpProgress::expect_continue;
  return progress;
}

HttpRequest HttpParser::take() {
  TM_CHECK(machine_ && machine_->grammar.is_done(), "no request is ready");
  HttpRequest request = machine_->grammar.take();
  machine_.reset();
  return request;
}

const HttpRefusal& HttpParser::refusal() const {
  TM_CHECK(machine_, "nothing was refused");
  return machine_->grammar.refusal();
}

struct HttpResponseParser::Machine {
  Machine(const HttpLimits& limits, AnswerTo answer_to) : grammar(limits) { grammar.skip(answer_to == AnswerTo::head); }
  ResponseGrammar grammar;
};

HttpResponseParser::HttpResponseParser(AnswerTo answer_to, HttpLimits limits)
    : limits_(limits), answer_to_(answer_to) {}
HttpResponseParser::~HttpResponseParser() = default;
HttpResponseParser::HttpResponseParser(HttpResponseParser&&) noexcept = default;
HttpResponseParser& HttpResponseParser::operator=(HttpResponseParser&&) noexcept = default;

HttpProgress HttpResponseParser::feed(std::string_view& input) {
  for (;;) {
    if (!machine_) skip_empty_lines(input);
    if (!machine_ && input.empty()) return HttpProgress::need_more;
    if (!machine_) machine_ = std::make_unique<Machine>(limits_, answer_to_);
    ResponseGrammar& grammar = machine_->grammar;
    if (grammar.refused()) {
      input = {};
      return HttpProgress::refused;
    }
    if (!grammar.is_done()) {
      const HttpProgress progress = grammar.take_bytes(input);
      if (progress == HttpProgress::refused) input = {};
      if (progress != HttpProgress::ready) return progress;
    }
    if (!grammar.interim()) return HttpProgress::ready;
    machine_.reset();
  }
}

HttpProgress HttpResponseParser::finish() {
  if (!machine_) return HttpProgress::need_more;
  ResponseGrammar& grammar = machine_->grammar;
  if (grammar.refused()) return HttpProgress::refused;
  if (grammar.is_done()) return HttpProgress::ready;
  BeastError ec = http::error::partial_message;
  if (grammar.got_some()) grammar.put_eof(ec);
  if (ec) return grammar.refuse(malformed("http", "the peer closed in the middle of a response"));
  return HttpProgress::ready;
}

HttpResponse HttpResponseParser::take() {
  TM_CHECK(machine_ && machine_->grammar.is_done(), "no response is ready");
  HttpResponse response = machine_->grammar.take();
  machine_.reset();
  return response;
}

const Error& HttpResponseParser::error() const {
  TM_CHECK(machine_, "nothing was refused");
  return machine_->grammar.refusal().error;
}

}  // namespace tidemark
