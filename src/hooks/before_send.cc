#include "hooks/before_send.h"

#include <pthread.h>

#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "core/text_cut.h"
#include "hooks/signed_post.h"
#include "tidemark.pb.h"
#include "wire/convert.h"
#include "wire/convert_parts.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

constexpr std::size_t kCodeBytes = 64;
constexpr std::size_t kReasonBytes = 512;

Verdict silent() {
  return {.kind = Verdict::Kind::silent};
}

}  // namespace

std::string before_send_json(const SendCommand& command, const ConversationId& conversation) {
  v1::BeforeSend question;
  question.set_sender(command.sender.value);
  question.set_sender_device(command.device.value);
  question.set_conversation_id(conversation.value);
  question.set_client_msg_id(command.client_msg_id);
  to_pb(command.body, *question.mutable_body());
  question.set_reply_to(command.reply_to.value);
  for (const UserId& user : command.mentions) question.add_mentions(user.value);
  question.set_priority(static_cast<v1::Priority>(command.priority));
  question.set_mention_all(command.mention_all);
  std::string json;
  write_json(question, json);
  return json;
}

Verdict verdict_in(std::string_view json) {
  v1::BeforeSendVerdict answer;
  if (!json.empty() && !read_json(json, answer, {.fields = Unknown::ignore, .words = Unknown::ignore})) return silent();
  // Whatever it says beside it, a refusal is one.
  if (answer.refused())
    return {.kind = Verdict::Kind::refused,
            .code = std::string(cut_text(answer.code(), kCodeBytes).text),
            .reason = std::string(cut_text(answer.reason(), kReasonBytes).text)};
  if (!answer.has_body()) return {};
  auto body = checked_body(true, answer.body());
  if (!body) return silent();
  return {.kind = Verdict::Kind::amended, .body = std::move(*body)};
}

BeforeSendAsker::BeforeSendAsker(const Clock& clock, BeforeSendOptions options, const TlsContext* tls)
    : clock_(clock), options_(std::move(options)), breaker_(options_.breaker) {
  for (std::size_t i = 0; i < options_.parallel; ++i) posts_.push_back(std::make_unique<HttpPost>(options_.url, tls));
}

BeforeSendAsker::~BeforeSendAsker() {
  stop();
}

void BeforeSendAsker::start() {
  for (const auto& post : posts_)
    threads_.emplace_back([this, &post] {
      pthread_setname_np(pthread_self(), "before_send");
      work(*post);
    });
}

void BeforeSendAsker::stop() {
  std::deque<Question> unasked;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    unasked = std::exchange(waiting_, {});
  }
  woken_.notify_all();
  for (const auto& post : posts_) post->interrupt();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  for (Question& each : unasked) each.told(silent());
}

void BeforeSendAsker::ask(std::string question, Told told) {
  {
    const std::lock_guard lock(mutex_);
    ++status_.asked;
    if (!stopping_ && waiting_.size() < options_.waiting_max && breaker_.may_ask(clock_.steady_ms())) {
      waiting_.push_back({std::move(question), std::move(told), clock_.steady_ms() + options_.timeout_ms});
      told = nullptr;
    } else {
      ++status_.silent;
    }
  }
  if (told) return told(silent());
  woken_.notify_one();
}

BeforeSendAsker::Status BeforeSendAsker::status() const {
  const std::lock_guard lock(mutex_);
  Status status = status_;
  status.down = breaker_.down();
  return status;
}

void BeforeSendAsker::work(HttpPost& post) {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Question question = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Verdict verdict = answer_of(post, question);
    lock.lock();
    count(verdict);
    lock.unlock();
    question.told(std::move(verdict));
    question = {};
    lock.lock();
  }
}

Verdict BeforeSendAsker::answer_of(HttpPost& post, const Question& question) {
  const std::int64_t left_ms = question.until_ms - clock_.steady_ms();
  if (left_ms <= 0) return silent();
  const auto response = post_signed(post, clock_, options_.secret, question.body, left_ms);
  if (!response || response->status < 200 || response->status > 299) return silent();
  return verdict_in(response->body);
}

void BeforeSendAsker::count(const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::refused) ++status_.refused;
  if (verdict.kind == Verdict::Kind::amended) ++status_.amended;
  if (verdict.kind != Verdict::Kind::silent) return breaker_.answered();
  ++status_.silent;
  const bool was_down = breaker_.down();
  breaker_.failed(clock_.steady_ms());
  if (!was_down && breaker_.down()) log_warning("before_send_hook_down");
}

}  // namespace tidemark
