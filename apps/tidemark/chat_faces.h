// The two faces of a chat: a whole screen for people, lines for pipes and scripts.
#pragma once

#include <string>

#include "apps/tidemark/chat_session.h"
#include "apps/tidemark/terminal_mode.h"

namespace tidemark {

/// A change of a message as the faces call it.
inline std::string_view name_of(MutationKind kind) {
  return kind == MutationKind::recall ? "recall" : kind == MutationKind::edit ? "edit" : "reaction";
}

struct ChatScreenOptions {
  std::string to;      // the conversation to begin with, or ""
  std::string notice;  // shown at first
};

/// Runs until the user leaves or a signal comes; returns the exit status. REQUIRES a terminal at stdin and stdout.
int run_chat_screen(ChatSession& session, SignalQueue& signals, const ChatScreenOptions& options);

struct ChatLinesOptions {
  std::string to;          // where lines go until a /to, or ""
  bool follow = false;     // go on after the end of stdin
  bool no_server = false;  // none answered before the chat began
};

/// Each line of stdin is sent or is a command; what happens is told on stdout, one line each:
///
///     holds alice_bob 2 text               (at first: a conversation, its unread messages, its newest one)
///     held alice_bob 2 bob: text           (when a conversation is opened: what was held before)
///     link online
///     older alice_bob up to 80 message(s) ... (not shown; how to see them)
///     message alice_bob 3 bob: text        (line breaks as \n)
///     pending alice_bob text               (it waits for a server)
///     sent alice_bob 4
///     unread alice_bob 2
///     failed alice_bob: reason It was: text
///     notice text                          (of a command)
///
/// At the end of stdin it waits (10 s at most) until it is in step and everything is sent, messages of earlier chats
/// among them. Without a server it ends at once, or, when messages are to be sent, says how many it waits for. Exit
/// status 1 when something was not sent, when it was never in step, and, at once, when the server refuses the user; the
/// reason is told on stderr.
int run_chat_lines(ChatSession& session, SignalQueue& signals, const ChatLinesOptions& options);

}  // namespace tidemark
