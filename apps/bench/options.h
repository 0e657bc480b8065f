// What the command line asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/dialect.h"

namespace tidemark::bench {

struct Options {
  std::vector<std::string> works;     // names of works, or "all", or "limit"
  int repeat = 1;                     // how often they run, all of them in turns
  std::string url;                    // http://ADDRESS:PORT of a running server; "": one of its own
  std::string data;                   // that server's data directory, whose secret signs the tokens
  std::string server;                 // the tidemark binary
  std::string directory;              // temporary data goes below it
  std::vector<std::string> settings;  // name=value, for a server of its own
  std::string json;                   // file to write, or ""
  std::string svg;
  Dialect dialect = Dialect::binary;
  int seconds = 10;  // of each measured phase
  int pairs = 50;
  int in_flight = 16;  // of each pair
  int text_bytes = 100;
  double load = 0.5;  // open loop: part of the maximum
  double rate = 0;    // open loop: messages a second instead; 0: by `load`
  int backlog = 10'000;
  int rounds = 20;                         // repetitions of what happens once, such as coming back to a backlog
  std::int64_t fill = 1'000'000;           // messages in the store of the history work
  std::int64_t large = 0;                  // of them in the conversation that is read; 0: a tenth
  int pages = 2'000;                       // history pages of each kind
  int connections = 10'000;                // idle, storm
  int conversations = 100'000;             // spread
  int listed = 10'000;                     // conversations of the list
  int online = 1'000;                      // members of a group who have it open
  std::int64_t log_bytes = 1'000'000'000;  // restart: what has to be replayed
  bool keep = false;                       // leave the temporary directory
  bool strict = false;                     // a missed target is a failure
};

}  // namespace tidemark::bench
