#include "hooks/notify_sender.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "hooks/signed_post.h"
#include "store/store_view.h"

namespace tidemark {
namespace {
constexpr int kReadsMax = 20;  // of one turn, while messages are being taken back
}

NotifySender::NotifySender(Engine& engine, const Clock& clock, NotifySenderOptions options, const TlsContext* tls,
                           Host host)
    : engine_(engine), clock_(clock), options_(std::move(options)), host_(std::move(host)) {
  for (std::size_t i = 0; i < options_.parallel; ++i) posts_.push_back(std::make_unique<HttpPost>(options_.url, tls));
}

NotifySender::~NotifySender() {
  stop();
}

void NotifySender::start() {
  for (const auto& post : posts_)
    threads_.emplace_back([this, &post] {
      pthread_setname_np(pthread_self(), "notify");
      work(*post);
    });
}

void NotifySender::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  for (const auto& post : posts_) post->interrupt();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void NotifySender::send(Notifier::Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turns_.push_back(std::move(turn));
  }
  woken_.notify_one();
}

void NotifySender::taken_back(const ConversationId& conversation) {
  const std::lock_guard lock(mutex_);
  for (Flight* flight : flights_)
    if (flight->reading || std::ranges::find(flight->shows, conversation) != flight->shows.end()) flight->stale = true;
}

void NotifySender::dissolved(const ConversationId& conversation) {
  taken_back(conversation);
  {
    const std::lock_guard lock(mutex_);
    find_dissolved_ = true;
  }
  woken_.notify_one();
}

NotifySender::Status NotifySender::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void NotifySender::work(HttpPost& post) {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stopping_ || find_missed_ || find_dissolved_ || !turns_.empty(); });
    if (stopping_) return;
    if (std::exchange(find_missed_, false)) {
      lock.unlock();
      find_missed();
      lock.lock();
      continue;
    }
    if (std::exchange(find_dissolved_, false)) {
      lock.unlock();
      find_shown_dissolved();
      lock.lock();
      continue;
    }
    const Notifier::Turn turn = std::move(turns_.front());
    turns_.pop_front();
    lock.unlock();
    const bool told = take(post, turn);
    host_.answered(turn, told);
    lock.lock();
  }
}

bool NotifySender::take(HttpPost& post, const Notifier::Turn& turn) {
  for (int reads = 0; reads < kReadsMax; ++reads) {
    // Known before anything is read, so that no taking back falls between.
    Flight flight;
    std::unique_lock lock(mutex_);
    flights_.push_back(&flight);
    lock.unlock();
    const Outcome outcome = take_once(post, turn, flight);
    lock.lock();
    std::erase(flights_, &flight);
    if (outcome == Outcome::again && !stopping_) continue;
    if (outcome != Outcome::told) ++status_.failed;
    return outcome == Outcome::told;
  }
  return false;
}

NotifySender::Outcome NotifySender::take_once(HttpPost& post, const Notifier::Turn& turn, Flight& flight) {
  const auto snapshot = engine_.snapshot();
  StoreView view(snapshot);
  const auto before = read_notified_user(*snapshot, turn.user);
  if (!before) {
    log_error("notification_not_read", {{"error", before.error().message()}});
    return Outcome::failed;
  }
  // Nothing was shown, and nothing is new.
  if (!turn.up_to && before->shown.empty()) return Outcome::told;
  const NotificationLook look = look_at(view, engine_.params(), options_.content, turn.user, *before, turn.acknowledged,
                                        turn.up_to, clock_.wall_ms());
  if (view.failure()) return Outcome::failed;
  if (!look.tell) return Outcome::told;
  {
    const std::lock_guard lock(mutex_);
    flight.reading = false;
    for (const ShownConversation& each : look.tell->conversations) flight.shows.push_back(each.conversation);
    if (flight.stale) return Outcome::again;
  }
  const std::string body = notification_json(*look.tell, turn.number);
  const auto response = post_signed(post, clock_, options_.secret, body, options_.timeout_ms, [&] {
    const std::lock_guard lock(mutex_);
    return !flight.stale;
  });
  if (!response && response.error().kind == PostError::Kind::held_back) return Outcome::again;
  if (!response || response->status < 200 || response->status > 299) return Outcome::failed;
  Settlement settlement;
  settlement.notified.emplace_back(turn.user, look.after);
  engine_.settle(std::move(settlement));
  std::unique_lock lock(mutex_);
  ++status_.told;
  const bool stale = flight.stale;
  lock.unlock();
  // What ended while this was told may have been looked for before it was noted.
  if (stale) host_.outdated({turn.user});
  return Outcome::told;
}

/// What came just before the server stopped, and nobody has told of.
void NotifySender::find_missed() {
  const auto snapshot = engine_.snapshot();
  StoreView view(snapshot);
  std::map<UserId, Mark> missed;
  const std::int64_t since = clock_.wall_ms() - kNotifyingMs;
  const auto look = [&](const NotifyingMessage& message) {
    if (message.at < since) return;
    const auto entry = view.entry(message.conversation, message.seq);
    const Conversation* conversation = view.conversation(message.conversation);
    if (!entry || conversation == nullptr) return;
    for (const UserId& user : notified_by(*conversation, *entry)) {
      const UserConversation* row = view.user_conversation(user, message.conversation);
      if (row == nullptr || !row->in_period()) continue;
      Mark& mark = missed[user];
      mark = std::max(mark, row->mark());
    }
  };
  if (const auto read = read_notifying_messages(*snapshot, look); !read)
    log_error("notifications_not_read", {{"error", read.error().message()}});
  std::vector<Missed> found;
  for (const auto& [user, mark] : missed) {
    const auto notified = read_notified_user(*snapshot, user);
    Mark known = notified ? notified->mark : Mark();
    for (const Device& device : view.devices(user)) known = std::max(known, device.acknowledged);
    if (mark > known) found.push_back({user, mark});
  }
  host_.missed(std::move(found));
}

/// At the start too: a group may have ended just before the server stopped.
void NotifySender::find_shown_dissolved() {
  const auto snapshot = engine_.snapshot();
  StoreView view(snapshot);
  std::vector<UserId> found;
  const auto over = [&](const auto& shown) {
    const Conversation* conversation = view.conversation(shown.first);
    return conversation != nullptr && conversation->dissolved;
  };
  const auto look = [&](const UserId& user, const NotifiedUser& notified) {
    if (std::ranges::any_of(notified.shown, over)) found.push_back(user);
  };
  if (const auto read = read_notified_users(*snapshot, look); !read)
    log_error("notifications_not_read", {{"error", read.error().message()}});
  if (!found.empty()) host_.outdated(std::move(found));
}

}  // namespace tidemark
