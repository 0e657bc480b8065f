// Push frames put together from parts that are already bytes.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <vector>

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/dialect.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr int kFirstHeaderField = pb::PushItem::kIndexAfterFieldNumber;
constexpr int kLastHeaderField = pb::PushItem::kSummaryFieldNumber;
static_assert(kLastHeaderField + 1 == pb::PushItem::kConversationIdFieldNumber,
              "an item's own fields come before the shared ones");
static_assert(pb::PushItem::kEntryFieldNumber == pb::PushItem::kConversationIdFieldNumber + 3,
              "the shared fields are conversation_id, after, to and entry");

void append_varint(std::size_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

constexpr std::uint32_t tag_of(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

std::size_t varint_size(std::size_t value) {
  return CodedOutputStream::VarintSize64(value);
}

/// Bytes of a field that holds a message of this size.
std::size_t field_size(std::uint32_t tag, std::size_t content) {
  return varint_size(tag) + varint_size(content) + content;
}

void append_head(std::uint32_t tag, std::size_t content, std::string& out) {
  append_varint(tag, out);
  append_varint(content, out);
}

constexpr int kFirstTailField = pb::PushItem::kObjectsFieldNumber;
constexpr int kLastTailField = pb::PushItem::kPartFieldNumber;

/// The item's own fields behind the shared ones.
pb::PushItem tail_of(const pb::PushItem& header) {
  pb::PushItem tail;
  *tail.mutable_objects() = header.objects();
  tail.set_part(header.part());
  return tail;
}

void append_item(const PushPart& part, std::string& out) {
  if (part.header.objects().empty() && part.header.part() == pb::ITEM_PART_WHOLE) {
    TM_CHECK(part.header.AppendPartialToString(&out), "a push header of more than 2 GiB was made");
    out += part.shared;
    return;
  }
  pb::PushItem head = part.header;
  head.clear_objects();
  head.clear_part();
  head.AppendPartialToString(&out);
  out += part.shared;
  tail_of(part.header).AppendPartialToString(&out);
}

void append_binary_push(std::span<const PushPart> parts, std::string& out) {
  constexpr std::uint32_t kItemTag = tag_of(pb::Push::kItemsFieldNumber);
  std::vector<std::size_t> sizes;
  sizes.reserve(parts.size());
  std::size_t all = 0;
  for (const PushPart& part : parts) {
    sizes.push_back(part.header.ByteSizeLong() + part.shared.size());
    all += field_size(kItemTag, sizes.back());
  }
  out.reserve(out.size() + all + 16);
  append_head(tag_of(pb::ServerFrame::kPushFieldNumber), all, out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    append_head(kItemTag, sizes[i], out);
    append_item(parts[i], out);
  }
}

std::string encode_shared_json(std::string_view conversation_id, std::uint64_t after, std::uint64_t to,
                               const pb::Message* entry) {
  pb::PushItem item;
  item.set_conversation_id(std::string(conversation_id));
  item.set_after(after);
  item.set_to(to);
  std::string out;
  write_json_fields(item, pb::PushItem::kConversationIdFieldNumber, pb::PushItem::kToFieldNumber, out);
  out += ",\"entry\":";
  if (entry)
    write_json(*entry, out);
  else
    out += "null";
  return out;
}

void append_json_push(std::span<const PushPart> parts, std::string& out) {
  static const std::string nothing_shared = encode_shared_json("", 0, 0, nullptr);
  out += R"({"id":0,"push":{"items":[)";
  bool comma = false;
  for (const PushPart& part : parts) {
    out += comma ? ",{" : "{";
    comma = true;
    write_json_fields(part.header, kFirstHeaderField, kLastHeaderField, out);
    out += ',';
    out += part.shared.empty() ? std::string_view(nothing_shared) : part.shared;
    out += ',';
    write_json_fields(part.header, kFirstTailField, kLastTailField, out);
    out += '}';
  }
  out += "]}}";
}

}  // namespace

std::string encode_shared_entry(Dialect dialect, std::string_view conversation_id, std::uint64_t after,
                                std::uint64_t to, const pb::Message* entry) {
  if (dialect == Dialect::json) return encode_shared_json(conversation_id, after, to, entry);
  pb::PushItem item;
  item.set_conversation_id(std::string(conversation_id));
  item.set_after(after);
  item.set_to(to);
  std::string out;
  if (entry == nullptr) return item.SerializeAsString();
  const std::size_t size = entry->ByteSizeLong();
  out.reserve(item.ByteSizeLong() + size + 8);
  item.AppendToString(&out);
  append_head(tag_of(pb::PushItem::kEntryFieldNumber), size, out);
  TM_CHECK(entry->AppendToString(&out), "an entry of more than 2 GiB was made");
  return out;
}

void append_push_frame(Dialect dialect, std::span<const PushPart> parts, std::string& out) {
  for (const PushPart& part : parts)
    TM_CHECK(part.header.conversation_id().empty() && part.header.after() == 0 && part.header.to() == 0 &&
                 !part.header.has_entry(),
             "a push header holds fields of the shared part");
  if (dialect == Dialect::json)
    append_json_push(parts, out);
  else
    append_binary_push(parts, out);
}

}  // namespace tidemark
