// The two faces of a chat: a whole screen for people, lines for pipes and scripts.
#pragma once

#include <string>

#include "apps/tidemark/chat_session.h"
#include "apps/tidemark/terminal_mode.h"

namespace tidemark {

struct ChatScreenOptions {
  std::string to;      // the conversation to begin with, or ""
  std::string notice;  // shown at first
};

/// Runs until the user leaves or a signal comes; returns the exit status. REQUIRES a terminal at stdin and stdout.
int run_chat_screen(ChatSession& session, SignalQueue& signals, const ChatScreenOptions& options);

struct ChatLinesOptions {
  std::string to;       // where lines go until a /to, or ""
  bool follow = false;  // go on after the end of stdin
};

/// Each line of stdin is sent or is a command; what happens is told on stdout, one line each:
///
///     link online
///     message alice_bob 3 bob: text        (line breaks as \n)
///     sent alice_bob 4
///     unread alice_bob 2
///     failed alice_bob: reason
///     notice text                          (of a command)
///
/// At the end of stdin it waits (10 s at most) until everything is sent. Exit status 1 when something was not.
int run_chat_lines(ChatSession& session, SignalQueue& signals, const ChatLinesOptions& options);

}  // namespace tidemark
