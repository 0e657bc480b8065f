#include "engine/push_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/planted.h"

namespace tidemark {
namespace {

bool is_message(const PushRef& ref, Priority priority) {
  return ref.shared && ref.shared->entry->countable() && !ref.shared->entry->dead() &&
         ref.shared->entry->priority == priority;
}

bool has_index(const PushRef& ref) {
  return bool(ref.item->index_to);
}

PushRef entry_part(PushRef ref) {
  if (!has_index(ref)) return ref;
  auto item = share(*ref.item);
  item->index_after = item->index_to = Mark();
  item->summary = nullptr;
  item->objects = nullptr;
  item->part = ItemPart::entry;
  ref.item = std::move(item);
  return ref;
}

/// Places in `waiting`, by how soon their conversations leave; within one each conversation's are in order.
struct Lanes {
  std::vector<std::size_t> high;
  std::vector<std::size_t> normal;
  std::vector<std::size_t> low;
};

Lanes lanes_of(const std::vector<PushRef>& waiting, bool low_waits) {
  struct Has {
    bool high = false;
    bool other_than_low = false;
  };
  std::map<ConversationId, Has> conversations;
  for (const PushRef& ref : waiting) {
    Has& has = conversations[ref.item->conversation];
    has.high = has.high || is_message(ref, Priority::high);
    has.other_than_low = has.other_than_low || !is_message(ref, Priority::low);
  }
  Lanes lanes;
  for (std::size_t place = 0; place < waiting.size(); ++place) {
    const Has& has = conversations.at(waiting[place].item->conversation);
    // What has no entry has nothing to overtake with.
    const bool overtakes = planted(Fault::high_overtakes_own) ? is_message(waiting[place], Priority::high)
                                                              : has.high && waiting[place].shared != nullptr;
    // Nor can it leave before a low one that comes first: it would take the room and go nowhere.
    const bool behind_low = waiting[place].shared == nullptr && !lanes.low.empty();
    if (overtakes)
      lanes.high.push_back(place);
    else if ((has.other_than_low || !low_waits) && !behind_low)
      lanes.normal.push_back(place);
    else
      lanes.low.push_back(place);
  }
  return lanes;
}

/// Takes from the front of a lane what has room; what is taken goes.
class Taker {
 public:
  Taker(const std::vector<PushRef>& waiting, std::vector<std::size_t>& taken) : waiting_(waiting), taken_(taken) {}

  void take(std::vector<std::size_t>& lane, std::size_t entries, std::size_t bytes) {
    auto next = lane.begin();
    for (; next != lane.end() && taken_.size() < entries; ++next) {
      bytes_ += waiting_[*next].size_bytes;
      if (bytes_ > bytes && !taken_.empty()) {
        bytes_ -= waiting_[*next].size_bytes;
        break;
      }
      taken_.push_back(*next);
    }
    lane.erase(lane.begin(), next);
  }

 private:
  const std::vector<PushRef>& waiting_;
  std::vector<std::size_t>& taken_;
  std::size_t bytes_ = 0;
};

}  // namespace

PushRef index_part(PushRef ref) {
  auto item = share(*ref.item);
  item->told = ref.shared->entry->seq;
  item->entry = nullptr;
  item->part = ItemPart::index;
  ref.item = std::move(item);
  return ref;
}

bool any_priority(const std::vector<PushRef>& waiting) {
  return std::ranges::any_of(
      waiting, [](const PushRef& ref) { return is_message(ref, Priority::high) || is_message(ref, Priority::low); });
}

bool all_low(const std::vector<PushRef>& waiting) {
  return std::ranges::all_of(waiting, [](const PushRef& ref) { return is_message(ref, Priority::low); });
}

PushOrder ordered(const std::vector<PushRef>& waiting, const PushBudget& budget) {
  Lanes lanes = lanes_of(waiting, budget.low_waits);
  std::vector<std::size_t> taken;
  Taker taker(waiting, taken);
  const bool shared = !lanes.normal.empty() || !lanes.low.empty();
  taker.take(lanes.high, shared ? std::max<std::size_t>(budget.entries / 2, 1) : budget.entries,
             shared ? budget.bytes / 2 : budget.bytes);
  const std::size_t ahead = taken.size();
  for (auto* lane : {&lanes.normal, &lanes.high, &lanes.low}) taker.take(*lane, budget.entries, budget.bytes);

  PushOrder order;
  std::vector<bool> gone(waiting.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::size_t place = taken[i];
    auto& out = i < ahead && ahead < taken.size() ? order.first : order.rest;
    gone[place] = true;
    if (place != order.begun) {
      // What has no entry waits for those before it.
      if (waiting[place].shared) out.push_back(entry_part(waiting[place]));
      continue;
    }
    out.push_back(waiting[place]);
    // Those behind it that have overtaken it are in their place now.
    for (++order.begun; order.begun < waiting.size() && gone[order.begun]; ++order.begun) {
      const PushRef& next = waiting[order.begun];
      if (has_index(next)) out.push_back(next.shared ? index_part(next) : next);
    }
  }
  for (std::size_t place = order.begun; place < waiting.size(); ++place)
    order.left_entries = order.left_entries || (!gone[place] && !has_index(waiting[place]));
  return order;
}

}  // namespace tidemark
