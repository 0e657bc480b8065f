// What a device stores, as bytes (base/codec.h): every member of a value in the order of its declaration. The bytes say
// nothing of a version; the store that holds them does. A member added to one of the types is a compile error in
// replica_codec.cc, and a new format version of every store.
#pragma once

#include <string>
#include <string_view>

#include "core/replica/state.h"

namespace tidemark {

/// For Entry, replica::DeviceState, ConversationState, RowNote, OutboxItem, MutationItem and ObjectState. Enumerators
/// that this version does not know (a newer server's) pass through.
template <typename T>
std::string encode_stored(const T& value);
/// False: the bytes are not such a value, whole and nothing else; `value` is then in no particular state.
template <typename T>
bool decode_stored(std::string_view bytes, T& value);

}  // namespace tidemark
