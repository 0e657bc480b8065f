// How far others have read, and a user's totals: looked up when somebody asks, and again when what a link watches has
// changed.
#include "core/reads.h"
#include "gateway/service.h"
#include "tidemark.pb.h"
#include "wire/convert.h"

namespace tidemark {
namespace {

using Frame = std::unique_ptr<pb::ServerFrame>;

std::vector<UserId> users_of(const Receipts& receipts) {
  std::vector<UserId> users;
  for (const Receipt& receipt : receipts.receipts) users.push_back(receipt.user);
  return users;
}

}  // namespace

void Service::receipts(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const ConversationId id(request.receipts().conversation_id());
  const bool watch = caller.link != 0 && request.receipts().watch();
  if (watch)
    receipt_watch_.watch(caller.link, id);
  else if (caller.link != 0)
    receipt_watch_.unwatch(caller.link, id);
  read_receipts_of({caller.user, id, {}}, caller,
                   [this, id, watch, link = caller.link, answer = std::move(answer)](Result<Frame> frame) mutable {
                     const bool told = frame && !(*frame)->receipts().off();
                     if (watch && !told) receipt_watch_.unwatch(link, id);
                     answer(std::move(frame));
                   });
}

void Service::changed_receipts(const Caller& caller, const ReceiptWatch::Due& due, Answer answer) {
  read_receipts_of({caller.user, due.conversation, due.users}, caller, std::move(answer));
}

void Service::read_receipts_of(ReceiptsQuery query, const Caller& caller, Answer answer) {
  const auto users = std::make_shared<std::vector<UserId>>();
  read(
      caller,
      [this, users, query](StoreView& view) -> Result<Frame> {
        TM_ASSIGN(const Receipts receipts, read_receipts(view, engine_.params(), query));
        *users = users_of(receipts);
        auto frame = std::make_unique<pb::ServerFrame>();
        to_pb(receipts, *frame->mutable_receipts());
        return frame;
      },
      [this, users, id = query.conversation, answer = std::move(answer)](Result<Frame> frame) mutable {
        if (frame) receipt_watch_.know(id, *users);
        answer(std::move(frame));
      });
}

void Service::totals(const Caller& caller, Answer answer) {
  read(
      caller,
      [this, user = caller.user](StoreView& view) -> Result<Frame> {
        TotalsMemory memory = totals_.take(user);
        const std::int64_t now_ms = clock_.wall_ms();
        TM_ASSIGN(const Totals totals, read_totals(view, engine_.params(), user, now_ms, memory));
        totals_.keep(user, std::move(memory));
        auto frame = std::make_unique<pb::ServerFrame>();
        to_pb(totals, *frame->mutable_totals());
        frame->mutable_totals()->set_server_time(now_ms);
        return frame;
      },
      std::move(answer));
}

}  // namespace tidemark
