#include "wire/convert_parts.h"

#include <algorithm>

#include "tidemark.pb.h"

namespace tidemark {

Body body_from(const pb::Body& body) {
  Body made;
  if (!body.type().empty()) made.type = body.type();
  made.text = body.text();
  made.summary = body.summary();
  made.data = body.data();
  made.encrypted = body.encrypted();
  if (body.has_cut()) {
    BodyCut& cut = made.cut.emplace();
    cut.size_bytes = body.cut().size();
    for (std::size_t i = 0; i < std::min(cut.hash.size(), body.cut().hash().size()); ++i)
      cut.hash[i] = static_cast<std::uint8_t>(body.cut().hash()[i]);
  }
  for (const pb::Attachment& each : body.attachments())
    made.attachments.push_back({each.url(), each.size(), each.mime(), each.hash(), each.expires_at()});
  return made;
}

void to_pb(const Body& body, pb::Body& out) {
  out.set_type(body.type);
  out.set_text(body.text);
  out.set_summary(body.summary);
  out.set_data(body.data);
  for (const Attachment& attachment : body.attachments) {
    pb::Attachment& made = *out.add_attachments();
    made.set_url(attachment.url);
    made.set_size(attachment.size_bytes);
    made.set_mime(attachment.mime);
    made.set_hash(attachment.hash);
    made.set_expires_at(attachment.expires_at);
  }
  out.set_encrypted(body.encrypted);
  if (!body.cut) return;
  out.mutable_cut()->set_size(body.cut->size_bytes);
  out.mutable_cut()->set_hash(std::string(bytes_of(body.cut->hash)));
}

Interval interval_from(const pb::Interval& interval) {
  return {Seq(interval.after()), Seq(interval.to())};
}

void to_pb(const Interval& interval, pb::Interval& out) {
  out.set_after(interval.after.value);
  out.set_to(interval.to.value);
}

}  // namespace tidemark
