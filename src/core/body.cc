#include "core/body.h"

#include <string>

#include "base/codec.h"

namespace tidemark {

Result<void> check_body(const Body& body, const CoreParams& params) {
  if (body.type.empty() || body.type.size() > params.body_type_bytes_max)
    return fail(ErrorCode::OUT_OF_RANGE, "body.type", "1 to 32 bytes.");
  if (body.attachments.size() > params.attachments_max)
    return fail(ErrorCode::LIMIT_REACHED, "body.attachments",
                "At most " + std::to_string(params.attachments_max) + ".");
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
  }
  return digest_of({body.type, body.text, body.summary, body.data, body.encrypted, files});
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
