// Where a chat keeps what it holds, so that it is there without a server and after a restart.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "apps/tidemark/client_flags.h"
#include "client/client.h"

namespace tidemark {

/// A chat's store, and what was in it when it was opened.
struct ChatStore {
  std::shared_ptr<ReplicaStore> store;  // null: in memory
  std::string path;                     // "" in memory
  std::string device;                   // whose store it is
  std::map<ConversationId, Seq> held;   // the newest row of each conversation
};

/// `named` is what --store says: a file, "none" for memory, "" for the usual file of this server, user and device.
/// `device` is what --device says; without it the store's own device, or `usual_device` when it has none yet.
/// Errors are sentences that say what to do; TOO_MANY_CONNECTIONS when another chat has the store.
Result<ChatStore> open_chat_store(const Access& access, const std::string& named, const std::string& device,
                                  const std::string& usual_device);

/// ${XDG_DATA_HOME:-~/.local/share}/tidemark/<host>_<port>/<user>@<device>.db. MALFORMED without a home.
Result<std::string> usual_store_path(const Access& access, const std::string& device);

}  // namespace tidemark
