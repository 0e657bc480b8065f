#include "core/slim.h"

#include <algorithm>

#include "core/body.h"
#include "core/text_cut.h"

namespace tidemark {
namespace {
constexpr std::size_t kFrontBytes = 1'024;  // of summary or text
}

Body slim(Body body, std::size_t inline_bytes) {
  const std::size_t size = body_size(body);
  if (size <= inline_bytes || body.cut) return body;
  Body front;
  front.cut = BodyCut{size, digest_of_body(body)};
  front.type = std::move(body.type);
  const std::size_t most = std::min(kFrontBytes, inline_bytes);
  if (!body.summary.empty())
    front.summary = cut_text(body.summary, most).text;
  else
    front.text = cut_text(body.text, most).text;
  return front;
}

Entry slim(Entry entry, std::size_t inline_bytes) {
  entry.body = slim(std::move(entry.body), inline_bytes);
  return entry;
}

std::shared_ptr<const Entry> slim(std::shared_ptr<const Entry> entry, std::size_t inline_bytes) {
  if (entry == nullptr || entry->body.cut || body_size(entry->body) <= inline_bytes) return entry;
  return std::make_shared<const Entry>(slim(*entry, inline_bytes));
}

bool stands_for(const Body& sent, const Body& body) {
  if (!sent.cut) return sent == body;
  return sent.type == body.type && sent.cut->size_bytes == body_size(body) && sent.cut->hash == digest_of_body(body);
}

}  // namespace tidemark
