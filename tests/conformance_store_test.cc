// What survives crashes, torn logs and full disks: a real server on a real directory.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "world.h"

namespace tidemark::testing {
namespace {

using ::testing::SizeIs;

class StoreOnItsOwn : public OwnServer {};
TM_IN_BOTH_DIALECTS(StoreOnItsOwn);

// A kill falls anywhere between the arrival of a send and its answer; the store's own tests cut at every single point.
TEST_P(StoreOnItsOwn, S128_KilledBetweenWriteAndAck) {
  serve();
  std::vector<std::pair<std::string, std::uint64_t>> acked;  // text, seq
  std::vector<std::string> all;
  for (int round = 0; round < 10; ++round) {
    std::vector<pb::ClientFrame> open;
    {
      WsClient a1 = device("a");
      std::vector<std::uint64_t> posted;
      for (int i = 0; i < 30; ++i) {
        const std::string text = std::to_string(round) + "/" + std::to_string(i);
        open.push_back(send_frame(user("b"), text, new_id()));
        posted.push_back(a1.post(open.back()));
        all.push_back(text);
      }
      // From at once to about as long as all of it takes.
      a1.listen_for(round * 2);
      server().kill_hard();
      a1.listen_for(20);
      std::vector<pb::ClientFrame> unanswered;
      for (std::size_t i = 0; i < posted.size(); ++i) {
        if (const auto answered = a1.arrived(posted[i]))
          acked.emplace_back(open[i].send().body().text(), answered->sent().seq());
        else
          unanswered.push_back(open[i]);
      }
      open = std::move(unanswered);
    }
    server().start();
    WsClient a1 = device("a");
    for (const pb::ClientFrame& frame : open) {
      const pb::ServerFrame answered = a1.call(frame);
      ASSERT_TRUE(answered.has_sent()) << answered.ShortDebugString();
      acked.emplace_back(frame.send().body().text(), answered.sent().seq());
    }
  }
  WsClient b1 = device("b");
  const std::vector<pb::Message> rows = whole_history(b1, chat("a", "b"));
  EXPECT_EQ(seqs_of(rows), seqs_from(1, rows.size()));
  ASSERT_EQ(rows.size(), all.size()) << "each once";
  for (const auto& [text, seq] : acked) EXPECT_EQ(rows.at(seq - 1).body().text(), text);
  std::vector<std::string> stored = texts_of(rows);
  std::ranges::sort(stored);
  std::ranges::sort(all);
  EXPECT_EQ(stored, all);
  EXPECT_EQ(b1.conversation(chat("a", "b")).unread(), all.size());
  // Delivery goes on behind the restart.
  WsClient a1 = device("a");
  a1.sent(user("b"), "and on");
  EXPECT_TRUE(b1.wait_until([&] { return !b1.pushed.empty(); }));
}

/// The newest segment of the commit log below a data directory.
std::filesystem::path newest_segment(const std::string& data) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(data + "/store/log"))
    if (entry.path().filename().string().starts_with("log-") &&
        (newest.empty() || entry.path().filename() > newest.filename()))
      newest = entry.path();
  return newest;
}

/// Where the records of a segment end and what was reserved begins: a record never ends in so many zeros.
std::size_t end_of_records(const std::string& segment) {
  return (segment.find_last_not_of('\0') / 8 + 1) * 8;
}

TEST_P(StoreOnItsOwn, S129_TornTail) {
  serve();
  std::uint64_t last = 0;
  for (int round = 0; round < 4; ++round) {
    {
      WsClient a1 = device("a");
      for (const pb::Sent& sent : send_all(a1, user("b"), numbered("m", 20))) last = sent.seq();
    }
    server().kill_hard();
    // Half of a record that was being written when the machine went down: its head promises more than there is.
    const std::filesystem::path log = newest_segment(server().data());
    ASSERT_FALSE(log.empty());
    std::ifstream in(log, std::ios::binary);
    std::string segment((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::size_t end = end_of_records(segment);
    ASSERT_GT(end, 200U);
    std::string half = segment.substr(56, round == 0 ? 5 : 80);  // the first record, of another place
    if (round == 2) half.assign(half.size(), '\xff');            // of whoever had the block before
    if (round == 3) half = segment.substr(end - 64, 64);
    segment.replace(end, half.size(), half);
    std::ofstream(log, std::ios::binary | std::ios::trunc) << segment;
    server().start();
    WsClient b1 = device("b");
    const std::vector<pb::Message> rows = whole_history(b1, chat("a", "b"));
    EXPECT_EQ(seqs_of(rows), seqs_from(1, last)) << "nothing acknowledged is lost";
    WsClient a1 = device("a");
    EXPECT_EQ(a1.sent(user("b"), "next").seq(), ++last) << "the next number follows";
  }
}

TEST_P(StoreOnItsOwn, ADamagedRecordThatOthersFollowIsRefused) {
  serve();
  {
    WsClient a1 = device("a");
    for (const std::string& text : numbered("m", 5)) a1.sent(user("b"), text);
  }
  server().kill_hard();
  const std::filesystem::path log = newest_segment(server().data());
  std::ifstream in(log, std::ios::binary);
  std::string segment((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t place = segment.rfind("m2");
  ASSERT_NE(place, std::string::npos);
  segment[place] = 'n';
  std::ofstream(log, std::ios::binary | std::ios::trunc) << segment;
  const Finished refused =
      run_program({tidemark_program(), "serve", "--data", server().data(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, ::testing::AllOf(::testing::HasSubstr(log.filename().string()),
                                            ::testing::HasSubstr("damaged at byte"), ::testing::HasSubstr("restore")));
}

/// A file system of a fixed size, as root can make one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* size) { mounted_ = mount("tmpfs", place_.path().c_str(), "tmpfs", 0, size) == 0; }
  ~SmallDisk() {
    if (mounted_) umount2(place_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& path() const { return place_.path(); }
  /// Takes all the room that is left.
  void fill() {
    const int file = open((place_.path() + "/filler").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    const std::string block(64 * 1024, 'x');
    while (::write(file, block.data(), block.size()) > 0) {
    }
    close(file);
  }
  void free() { std::filesystem::remove(place_.path() + "/filler"); }

 private:
  TempDirectory place_;
  bool mounted_ = false;
};

TEST_P(StoreOnItsOwn, S140_FullDisk) {
  SmallDisk disk("size=96m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  for (const char* floor : {"store.min_free_bytes=8388608", "store.min_free_bytes=0"}) {
    const std::string data = disk.path() + "/" + floor;
    serve({.settings = {floor, "store.segment_bytes=1048576", "store.write_buffer_bytes=1048576"}, .data = data});
    const std::string id = chat("a", "b");
    WsClient a1 = device("a");
    WsClient b1 = device("b");
    (void)device("b", "d2");
    std::vector<std::string> kept = numbered("before ", 20);
    send_all(a1, user("b"), kept);
    disk.fill();

    // Sends are refused before any ack, at the latest when what was set aside is used up.
    const std::string block(60'000, 'x');
    std::string refused;
    std::string refused_id;
    constexpr int kForGood = 20;  // refusals in a row: a file that goes, or one made beforehand, may give room again
    for (int i = 0, in_a_row = 0; i < 2'000 && in_a_row < kForGood; ++i) {
      refused_id = new_id();
      const pb::ServerFrame answered = a1.send(user("b"), block, refused_id);
      refused = code_of(answered);
      if (answered.has_sent()) {
        kept.push_back(block);
        in_a_row = 0;
      } else {
        EXPECT_TRUE(answered.error().retryable());
        ++in_a_row;
        disk.fill();
        sleep_ms(50);
      }
    }
    EXPECT_EQ(refused, "RETRY_LATER") << floor;
    const HttpResponse not_ready = this->http().get("/readyz", "");
    EXPECT_EQ(not_ready.status, 503) << floor;
    EXPECT_THAT(not_ready.body, ::testing::Not(::testing::HasSubstr(disk.path()))) << "strangers may ask";
    // Reads go on, and nothing that was acknowledged is gone.
    EXPECT_EQ(texts_of(whole_history(b1, id)), kept) << floor;
    // Also for who comes only now, known or not.
    for (const char* name : {"d2", "new"}) {
      WsClient late = device("b", name);
      EXPECT_EQ(texts_of(whole_history(late, id)), kept) << floor;
      EXPECT_EQ(code_of(late.send(user("a"), block, new_id())), "RETRY_LATER");
    }
    HttpClient http = this->http();
    EXPECT_EQ(http.get("/healthz", "").status, 200);
    const HttpResponse refused_by_http = http.post("/v1/messages", token("a"), send_json(user("b"), "x", new_id()));
    EXPECT_EQ(refused_by_http.status, 503);
    EXPECT_TRUE(refused_by_http.headers.has("Retry-After"));

    // Room again: without a restart, within seconds; the refused id is not used up.
    disk.free();
    const std::int64_t deadline = steady_ms() + 2 * patience_ms();
    pb::ServerFrame answered;
    do {
      answered = a1.send(user("b"), block, refused_id);
      if (!answered.has_sent()) sleep_ms(50);
    } while (!answered.has_sent() && steady_ms() < deadline);
    ASSERT_TRUE(answered.has_sent()) << floor << ": " << answered.ShortDebugString();
    kept.push_back(block);
    EXPECT_EQ(http.get("/readyz", "").status, 200);
    a1.sent(user("b"), "after");
    kept.push_back("after");
    EXPECT_EQ(texts_of(whole_history(b1, id)), kept) << floor;
    server().restart_hard();
    WsClient again = device("b", "d2");
    const std::vector<pb::Message> rows = whole_history(again, id);
    EXPECT_EQ(texts_of(rows), kept) << floor;
    EXPECT_EQ(seqs_of(rows), seqs_from(1, kept.size()));
    server().stop();
    std::filesystem::remove_all(data);
  }
}

TEST_P(StoreOnItsOwn, WithoutAnyRoomTheServerSaysWhatItNeedsToStart) {
  SmallDisk disk("size=32m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  const std::vector<std::string> settings = {"store.min_free_bytes=0", "store.segment_bytes=1048576",
                                             "store.write_buffer_bytes=1048576"};
  serve({.settings = settings, .data = disk.path() + "/data"});
  device("a").sent(user("b"), "kept");
  server().stop();
  disk.fill();
  std::vector<std::string> command = {tidemark_program(), "serve",    "--data",
                                      server().data(),    "--listen", "127.0.0.1:0"};
  for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
  const Finished refused = run_program(command);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, ::testing::AllOf(::testing::HasSubstr("full"), ::testing::HasSubstr("free"),
                                            ::testing::HasSubstr("nothing is lost")));
  disk.free();
  server().start();
  WsClient b1 = device("b");
  EXPECT_THAT(texts_of(whole_history(b1, chat("a", "b"))), ::testing::ElementsAre("kept"));
}

}  // namespace
}  // namespace tidemark::testing
