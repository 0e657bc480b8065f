#include "core/replica/own_objects.h"

#include <gtest/gtest.h>

#include "core/replica/memory_store.h"
#include "core/replica/mutations.h"
#include "core/replica/workspace.h"

namespace tidemark::replica {
namespace {

UserObject theme(std::uint64_t mark) {
  return {.what = Setting{.name = "theme", .value = "\"dark\""}, .mark = Mark(mark)};
}

/// A snapshot ends without naming an object that a push behind it brings: both in one input.
TEST(OwnObjects, WhatComesAgainAfterASweepIsStored) {
  MemoryStore store(UserId("anna"), DeviceId("d1"), InstallId("i1"));
  Workspace workspace(Options{}, store.image(), [](const ConversationId&, Seq) { return nullptr; });
  Mutations mutations(workspace, store.image());
  OwnObjects objects(workspace, mutations, store.image());
  objects.take(theme(5));
  workspace.edit_device().pass.id += 1;
  objects.sweep();
  EXPECT_FALSE(objects.find("s/theme").has_value());
  objects.take(theme(6));
  store.apply(workspace.out.batch);
  ASSERT_EQ(objects.all().size(), 1U);
  ASSERT_EQ(store.objects().size(), 1U);
  EXPECT_EQ(store.objects().begin()->second.object, theme(6));
}

}  // namespace
}  // namespace tidemark::replica
