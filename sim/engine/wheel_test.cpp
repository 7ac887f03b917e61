#include "sim/engine/wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tcsim::sim {
namespace {

TEST(EventWheel, OrderIsCycleThenInsertion) {
  EventWheel wheel;
  wheel.add(5, {Event::Kind::response, 0, 0, 1, 0});
  wheel.add(3, {Event::Kind::response, 0, 0, 2, 0});
  wheel.add(5, {Event::Kind::response, 0, 0, 3, 0});
  EXPECT_EQ(wheel.next(), 3u);
  std::vector<uint32_t> seen;
  while (!wheel.empty()) wheel.deliver([&](const Event& e) { seen.push_back(e.id); });
  EXPECT_EQ(seen, (std::vector<uint32_t>{2, 1, 3}));
  EXPECT_EQ(wheel.next(), kNever);
}

TEST(EventWheel, HandlerMayAddAtTheSameCycle) {
  EventWheel wheel;
  wheel.add(7, {Event::Kind::response, 0, 0, 1, 0});
  int count = 0;
  wheel.deliver([&](const Event&) {
    if (++count < 3) wheel.add(7, {Event::Kind::response, 0, 0, 2, 0});
  });
  EXPECT_EQ(count, 3);
}

/// The slow twin: a multimap.
TEST(EventWheel, AgreesWithAMultimap) {
  EventWheel wheel;
  std::multimap<Cycle, uint32_t> twin;
  std::mt19937 random(1);
  Cycle now = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    if (random() % 3 != 0 || twin.empty()) {
      const Cycle at = now + 1 + (random() % 10 == 0 ? random() % 100000 : random() % 300);
      wheel.add(at, {Event::Kind::response, 0, 0, i, 0});
      twin.emplace(at, i);
      continue;
    }
    now = twin.begin()->first;
    ASSERT_EQ(wheel.next(), now);
    wheel.deliver([&](const Event& e) {
      ASSERT_FALSE(twin.empty());
      EXPECT_EQ(twin.begin()->first, now);
      EXPECT_EQ(twin.begin()->second, e.id);
      twin.erase(twin.begin());
    });
  }
}

}  // namespace
}  // namespace tcsim::sim
