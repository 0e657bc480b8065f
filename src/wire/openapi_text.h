// Sentences of the OpenAPI document that neither the routes nor the descriptors hold.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace tidemark {

/// ("Message" or "Message.seq", sentence). The schema's comments are not in its descriptors, so what a caller cannot
/// guess from the name stands here; a test sees to it that every name exists.
std::span<const std::pair<std::string_view, std::string_view>> schema_sentences();

/// The sentence for a name, or "".
std::string_view sentence_for(std::string_view name);

}  // namespace tidemark
