// What backends do in bulk: users with their levels, groups, conversations from elsewhere.
#include "gateway/limits.h"
#include "gateway/service.h"
#include "tidemark.pb.h"
#include "wire/convert.h"

namespace tidemark {
namespace {

std::string at_most(std::int64_t number) {
  return "At most " + std::to_string(number) + ".";
}

/// Answered when each of its parts is. Network thread.
struct Bulk {
  std::unique_ptr<pb::ServerFrame> frame = std::make_unique<pb::ServerFrame>();
  int left = 0;
  Answer answer;

  Bulk(int parts, Answer to) : left(parts), answer(std::move(to)) {
    for (int i = 0; i < parts; ++i) frame->mutable_bulk()->add_results();
  }
  void take(int index, Result<std::unique_ptr<pb::ServerFrame>> part) {
    pb::BulkResult& result = *frame->mutable_bulk()->mutable_results(index);
    if (!part)
      to_pb(part.error(), *result.mutable_error());
    else if ((*part)->has_user())
      *result.mutable_user() = (*part)->user();
    else
      *result.mutable_group() = (*part)->group();
    if (--left == 0) answer(std::move(frame));
  }
};

}  // namespace

void Service::put_users(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const auto& users = request.put_users().users();
  if (users.empty()) return answer(fail(ErrorCode::MALFORMED, "users", "Name at least one user."));
  if (users.size() > Limits::bulk_users_max)
    return answer(fail(ErrorCode::LIMIT_REACHED, "users", at_most(Limits::bulk_users_max)));
  const auto bulk = std::make_shared<Bulk>(users.size(), std::move(answer));
  for (int i = 0; i < users.size(); ++i) {
    pb::ClientFrame one;
    *one.mutable_put_user() = users[i];
    admin_call(caller, one, [bulk, i](auto part) { bulk->take(i, std::move(part)); });
  }
}

void Service::create_groups(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  const auto& groups = request.create_groups().groups();
  if (groups.empty()) return answer(fail(ErrorCode::MALFORMED, "groups", "Name at least one group."));
  if (groups.size() > Limits::bulk_groups_max)
    return answer(fail(ErrorCode::LIMIT_REACHED, "groups", at_most(Limits::bulk_groups_max)));
  // Some of them may be made and others not: whoever asks again needs to be known again.
  for (const pb::CreateGroupRequest& each : groups)
    if (each.idempotency_key().empty())
      return answer(fail(ErrorCode::MALFORMED, "groups", "Give each group an idempotency_key of its own."));
  const auto bulk = std::make_shared<Bulk>(groups.size(), std::move(answer));
  for (int i = 0; i < groups.size(); ++i) {
    pb::ClientFrame one;
    *one.mutable_create_group() = groups[i];
    create_group(caller, one, [bulk, i](auto part) { bulk->take(i, std::move(part)); });
  }
}

void Service::import(const Caller& caller, const pb::ClientFrame& request, Answer answer) {
  auto command = import_from(request.import());
  if (!command) return answer(std::unexpected(std::move(command).error()));
  command->user = caller.user;
  command->device = caller.device;
  submit(caller, std::move(*command), std::move(answer));
}

}  // namespace tidemark
