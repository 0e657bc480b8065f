#include "core/body.h"

#include <algorithm>
#include <string>

#include "base/codec.h"

namespace tidemark {

Result<void> check_body(const Body& body, const CoreParams& params) {
  if (body.type.empty() || body.type.size() > params.body_type_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "body.type", "1 to 32 bytes.");
  if (body.attachments.size() > params.attachments_max)
    return fail(ErrorCode::LIMIT_REACHED, "body.attachments",
                "At most " + std::to_string(params.attachments_max) + ".");
  for (std::size_t i = 0; i < body.attachments.size(); ++i)
    if (const std::int64_t at = body.attachments[i].expires_at; at < 0 || at > kForEver)
      return fail(ErrorCode::OUT_OF_RANGE, "body.attachments[" + std::to_string(i) + "].expires_at",
                  "A time in ms since 1970, or 0.");
  const std::size_t size = body_size(body);
  if (size > params.body_bytes_max)
    return fail(ErrorCode::TOO_LARGE, "body",
                std::to_string(size) + " bytes, at most " + std::to_string(params.body_bytes_max) + ".");
  if (body.text.empty() && body.summary.empty() && body.data.empty() && body.attachments.empty() &&
      body.encrypted.empty())
    return fail(ErrorCode::MALFORMED, "body", "Give text, summary, data, attachments or encrypted.");
  return {};
}

std::size_t body_size(const Body& body) {
  std::size_t size = body.text.size() + body.summary.size() + body.data.size() + body.encrypted.size();
  if (body.type != "text") size += body.type.size();
  for (const Attachment& a : body.attachments) size += a.url.size() + a.mime.size() + a.hash.size();
  return size;
}

Digest digest_of_body(const Body& body) {
  std::string files;
  ByteWriter out(files);
  for (const Attachment& a : body.attachments) {
    out.string(a.url);
    out.varint(a.size_bytes);
    out.string(a.mime);
    out.string(a.hash);
    out.svarint(a.expires_at);
  }
  return digest_of({body.type, body.text, body.summary, body.data, body.encrypted, files});
}

std::vector<std::int64_t> expiries_in(const Body& body) {
  std::vector<std::int64_t> times;
  for (const Attachment& file : body.attachments)
    if (file.expires_at != 0 && std::ranges::find(times, file.expires_at) == times.end())
      times.push_back(file.expires_at);
  return times;
}

bool has_expiry(const Body& body, std::int64_t at) {
  return std::ranges::any_of(body.attachments, [&](const Attachment& file) { return file.expires_at == at; });
}

void erase_content(Entry& message) {
  message.body = Body();
  message.mentions.clear();
  message.mention_all = false;
  message.reply_to = Seq();
  message.reactions.clear();
  message.reacted = Seq();
}

}  // namespace tidemark
