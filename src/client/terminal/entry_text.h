// Entries and conversations in words.
#pragma once

#include <string>

#include "core/results.h"

namespace tidemark::terminal {

/// What an entry says: the text of a message (its summary, or "[type]", where it has none) with its files and
/// reactions, the marker of a dead one, or a sentence about a change such as "ann added ben, chen". Not yet printable:
/// it may hold line breaks.
std::string entry_text(const Entry& entry);

/// The same for the preview of a list, on one line, with the sender in front where it is a group.
std::string preview_text(const Change& conversation);

/// How a list names a conversation: the title of a group, the other user of a single chat; the id where there is none.
std::string conversation_name(const Change& conversation);

/// "3", "999+", "•" for a conversation that is only flagged as unread, "" when nothing is unread.
std::string unread_text(const Unread& unread, bool flag);

}  // namespace tidemark::terminal
