// The parts that requests and answers are made of, to and from the schema: one place for what the server's conversions
// (wire/convert.h) and the client's (wire/convert_client.h) have in common.
#pragma once

#include <string>
#include <vector>

#include "core/results.h"
#include "core/types.h"
#include "wire/dialect_fwd.h"

namespace tidemark {
namespace v1 {
class Body;
class Interval;
}  // namespace v1

/// As it came: `data` is not checked. A body without a type is one of type "text".
Body body_from(const pb::Body& body);
void to_pb(const Body& body, pb::Body& out);

Interval interval_from(const pb::Interval& interval);
void to_pb(const Interval& interval, pb::Interval& out);

/// `names` is a repeated string of the schema.
template <typename Names>
std::vector<UserId> users_from(const Names& names) {
  std::vector<UserId> users;
  users.reserve(static_cast<std::size_t>(names.size()));
  for (const std::string& name : names) users.emplace_back(name);
  return users;
}

}  // namespace tidemark
