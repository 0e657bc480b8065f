#include <fmt/format.h>

#include "sim/judged_world.h"

namespace tidemark::sim {

namespace {

std::string names(const std::vector<UserObject>& objects) {
  std::string all;
  for (const UserObject& object : objects)
    all += fmt::format(" {} (mark {}{})", name_of(object).substr(0, 12), object.mark.value,
                       object.empty() ? ", empty" : "");
  return all;
}

}  // namespace

void trace_receipts(SimDevice& device, const replica::ReceiptsEvent& told) {
  std::string all = told.off ? " nothing" : "";
  for (const Receipt& receipt : told.receipts)
    all +=
        fmt::format(" {} has read to {} and got {};", receipt.user.value, receipt.read.value, receipt.delivered.value);
  device.show(fmt::format("is told of {}:{}", told.conversation.value, all));
}

void trace_answer(SimDevice& device, const replica::ServerFrame& frame) {
  if (const auto* welcome = std::get_if<replica::Welcome>(&frame.answer))
    device.show(fmt::format("is welcomed: mode {}, head {}, behind {}", static_cast<int>(welcome->mode),
                            welcome->head.mark.value, welcome->behind));
  if (const auto* hint = std::get_if<replica::Hint>(&frame.answer))
    device.show(fmt::format("is told of mark {}", hint->head.value));
  if (const auto* sync = std::get_if<replica::SyncAnswer>(&frame.answer)) {
    const SyncPage& page = sync->page;
    device.show(fmt::format("gets ({}, {}] of the index, p0 {}, head {}{}", page.after.value, page.to.value,
                            page.p0.value, page.head.value, page.more ? ", more" : ""));
    for (const Change& change : page.changes)
      device.show(fmt::format("  {} mark {} head {} read {} unread {}", change.conversation.value, change.mark.value,
                              change.head_seq.value, change.read.value, change.unread.count));
    if (!page.objects.empty()) device.show("  and" + names(page.objects));
  }
  if (const auto* mutated = std::get_if<MutatedReply>(&frame.answer))
    device.show(fmt::format("is answered change {} as of mark {}", mutated->number, mutated->mark.value));
  if (const auto* error = std::get_if<Error>(&frame.answer))
    device.show(fmt::format("is refused: {} {}: {}", error_info(error->code).name, error->field, error->message()));
  const auto list = [](const std::vector<Entry>& rows) {
    std::string all;
    for (const Entry& row : rows)
      all += fmt::format(" {}{}", row.seq.value,
                         row.dead()     ? "-"
                         : row.revision ? fmt::format("e{}", row.revision.value)
                                        : "");
    return all;
  };
  if (const auto* page = std::get_if<ConversationPage>(&frame.answer))
    device.show(fmt::format("gets news of {}: ({}, {}], covers ({}, {}], changed{} (to {}), new{}",
                            page->conversation.value, page->after.value, page->to.value, page->covers.after.value,
                            page->covers.to.value, list(page->touched), page->touch_cursor.value,
                            list(page->messages)));
  if (const auto* page = std::get_if<HistoryPage>(&frame.answer))
    device.show(fmt::format("gets history of {}: ({}, {}] as of {}:{}", page->conversation.value,
                            page->covers.after.value, page->covers.to.value, page->as_of.value, list(page->messages)));
  if (const auto* push = std::get_if<replica::Push>(&frame.answer))
    for (const PushItem& item : push->items)
      device.show(fmt::format("is pushed ({}, {}] {}:{}{}{}", item.index_after.value, item.index_to.value,
                              item.conversation.value, item.entry ? item.entry->seq.value : 0,
                              item.entry && item.entry->target ? fmt::format(" to {}", item.entry->target.value) : "",
                              item.summary ? " with the summary" : "") +
                  (item.objects ? " with" + names(*item.objects) : ""));
}

}  // namespace tidemark::sim
