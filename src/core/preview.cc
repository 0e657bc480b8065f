#include "core/preview.h"

#include "core/text_cut.h"

namespace tidemark {

Preview preview_of(const Entry& entry, std::size_t bytes_max) {
  Preview preview;
  preview.seq = entry.seq;
  preview.sender = entry.sender;
  preview.server_time = entry.server_time;
  preview.state = entry.state;
  if (entry.dead()) return preview;
  preview.type = entry.body.type;
  const TextCut text = cut_text(entry.body.summary.empty() ? entry.body.text : entry.body.summary, bytes_max);
  preview.text = text.text;
  preview.cut = text.cut;
  return preview;
}

}  // namespace tidemark
