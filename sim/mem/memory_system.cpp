#include "sim/mem/memory_system.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tcsim::sim {
namespace {

/// Spreads addresses over slices and channels. The hardware's hash is not published, but it is made to serve strided
/// tiles evenly; multiples of the golden ratio are spread more evenly than random numbers for any small stride.
uint64_t spread(uint64_t x) { return x * 0x9e3779b97f4a7c15ull; }
uint32_t pick(uint64_t hash, uint32_t count) { return static_cast<uint32_t>((hash >> 32) * count >> 32); }

constexpr uint32_t kChannelBytes = 512;  // consecutive bytes of one channel

/// Takes `cost` cycles of a resource that is next free at `free`, not before `now`. Returns the start.
double take(double& free, double now, double cost) {
  const double start = std::max(free, now);
  free = start + cost;
  return start;
}

}  // namespace

MemorySystem::MemorySystem(const cfg::Machine& machine, bool free_stores) : machine_(machine), free_stores_(free_stores) {
  const auto& l2 = machine.l2;
  slices_ = l2.slices;
  ways_ = l2.ways;
  sms_ = machine.chip.sms;
  partitions_ = machine.chip.partitions;
  channels_ = machine.dram.channels;
  sets_ = std::max<uint32_t>(1, static_cast<uint32_t>(l2.bytes / l2.line_bytes / slices_ / ways_));
  min_latency_ = std::min(l2.near_cycles, l2.far_cycles);
  slice_cycles_per_sector_ = l2.sector_bytes / l2.slice_bytes_per_cycle;
  link_cycles_per_sector_ = l2.sector_bytes / l2.partition_bytes_per_cycle;
  fill_cycles_per_sector_ = l2.sector_bytes / machine.l1.fill_bytes_per_cycle;
  store_cycles_per_sector_ = l2.sector_bytes / machine.l1.store_bytes_per_cycle;
  channel_cycles_per_byte_ = channels_ / machine.dram.bytes_per_cycle;
  group_ = std::max<uint32_t>(1, l2.coalescing_sms);
  if (group_ > 1) in_flight_.resize(size_t{(sms_ + group_ - 1) / group_} * kInFlight);
  for (uint32_t gpc = 0; gpc < machine.chip.gpc_sms.size(); ++gpc) gpc_of_sm_.insert(gpc_of_sm_.end(), machine.chip.gpc_sms[gpc], gpc);
  if (gpc_of_sm_.size() < sms_) gpc_of_sm_.clear();
  queued_.resize(gpc_of_sm_.empty() ? 0 : machine.chip.gpc_sms.size() * kQueued);
  lines_.resize(size_t{slices_} * sets_ * ways_);
  slice_free_.resize(slices_);
  link_free_.resize(partitions_);
  fill_free_.resize(sms_);
  store_free_.resize(sms_);
  channel_free_.resize(channels_);
}

MemorySystem::Place MemorySystem::place_of(uint64_t line) const {
  // The set comes from other digits of the same product: as even as the slices, and independent of them for any number of sets.
  const uint64_t hash = spread(line);
  return {pick(hash, slices_), pick(hash << 20, sets_)};
}

uint32_t MemorySystem::channel_of(uint64_t line) const { return pick(spread(line * machine_.l2.line_bytes / kChannelBytes), channels_); }

MemorySystem::Line& MemorySystem::find_or_evict(Place place, uint64_t line, Cycle now, bool& hit) {
  Line* set = &lines_[(size_t{place.slice} * sets_ + place.set) * ways_];
  Line* victim = set;
  for (uint32_t way = 0; way < ways_; ++way) {
    if (set[way].tag == line) {
      hit = true;
      set[way].used = ++stamp_;
      return set[way];
    }
    if (set[way].used < victim->used) victim = &set[way];
  }
  hit = false;
  if (victim->dirty != 0) write_back(victim->tag, victim->dirty, now);
  *victim = Line{.tag = line, .used = ++stamp_};
  return *victim;
}

Cycle MemorySystem::fetch_from_dram(uint64_t line, uint32_t sectors, Cycle now) {
  const uint32_t bytes = std::max<uint32_t>(static_cast<uint32_t>(std::popcount(sectors)) * machine_.l2.sector_bytes, machine_.dram.access_bytes);
  counters_[Counter::dram_bytes_read] += static_cast<uint64_t>(std::popcount(sectors)) * machine_.l2.sector_bytes;
  double& free = channel_free_[channel_of(line)];
  double start = static_cast<double>(now);
  if (machine_.dram.tlb_page_bytes != 0) {
    // The first touch of a page waits for its translation; later ones that come before it do, too.
    const uint64_t page = (line * machine_.l2.line_bytes / machine_.dram.tlb_page_bytes) & 0xffff;
    if (tlb_.size() <= page) tlb_.resize(page + 1, kNever);
    if (tlb_[page] == kNever) tlb_[page] = now + machine_.dram.tlb_miss_cycles;
    start = std::max<double>(start, static_cast<double>(tlb_[page]));
  }
  const double served = take(free, start, bytes * channel_cycles_per_byte_) + bytes * channel_cycles_per_byte_;
  return std::max(static_cast<Cycle>(std::ceil(served)), after_refresh(line, static_cast<Cycle>(start))) + machine_.dram.extra_cycles;
}

/// A bank that is being refreshed answers when that is over; the channel's other banks go on. Which addresses share a bank is not known:
/// those of `refresh_bytes` and a partition take their turn together, at a time of their own.
Cycle MemorySystem::after_refresh(uint64_t line, Cycle at) const {
  const auto& dram = machine_.dram;
  if (dram.refresh_cycles == 0) return at;
  const uint64_t bank = line * machine_.l2.line_bytes / dram.refresh_bytes * partitions_ + partition_of_slice(place_of(line).slice);
  const Cycle into = (at + pick(spread(bank + 1), dram.refresh_interval_cycles)) % dram.refresh_interval_cycles;
  return into < dram.refresh_cycles ? at + dram.refresh_cycles - into : at;
}

/// A line that is asked for from the partition that is not its memory's comes over the link once; then that partition has a copy.
/// `asked`: when the read is at L2; the link is taken then.
Cycle MemorySystem::cross(Line& line, const MemRequest& request, uint32_t partition, double asked, Cycle data) {
  const uint8_t missing = static_cast<uint8_t>(request.sectors & ~line.copied);
  if (missing != 0) {
    const uint32_t count = static_cast<uint32_t>(std::popcount(missing));
    const double sent = take(link_free_[partition], asked, count * link_cycles_per_sector_);
    counters_[Counter::l2_sectors_far] += count;
    line.copied |= missing;
    line.copy_ready = std::max(line.copy_ready, std::max(data, static_cast<Cycle>(std::ceil(sent))) + machine_.l2.cross_cycles);
  }
  return std::max(data, line.copy_ready);
}

void MemorySystem::write_back(uint64_t line, uint32_t sectors, Cycle now) {
  const uint32_t bytes = static_cast<uint32_t>(std::popcount(sectors)) * machine_.l2.sector_bytes;
  counters_[Counter::dram_bytes_write] += bytes;
  take(channel_free_[channel_of(line)], static_cast<double>(now), bytes * channel_cycles_per_byte_);
}

/// The unloaded way back, then the SM's ingress port: later responses queue behind this one.
Cycle MemorySystem::respond(const MemRequest& request, Cycle data, bool far) {
  double done = static_cast<double>(data) + (far ? machine_.l2.far_cycles : machine_.l2.near_cycles);
  if (request.kind == MemRequest::Kind::read || request.kind == MemRequest::Kind::atomic) {
    const double width = std::popcount(request.sectors) * fill_cycles_per_sector_;
    done = take(fill_free_[request.sm], done - width, width) + width;
  }
  return std::max<Cycle>(static_cast<Cycle>(std::ceil(done)), request.cycle + min_latency_);
}

Cycle MemorySystem::serve(const MemRequest& request) {
  if (free_stores_ && request.kind == MemRequest::Kind::write) return request.cycle + min_latency_;
  const Place place = place_of(request.line);
  const bool merges = group_ > 1 && request.kind == MemRequest::Kind::read;
  if (merges) {
    const InFlight& other = in_flight(request);
    if (other.line == request.line && (request.sectors & ~other.sectors) == 0 && request.cycle < other.done)
      return respond(request, std::max(other.data, request.cycle), partition_of_sm(request.sm) != partition_of_slice(place.slice));
  }
  Queued* queued = request.kind == MemRequest::Kind::read && !queued_.empty()
                       ? &queued_[size_t{gpc_of_sm_[request.sm]} * kQueued + request.line % kQueued]
                       : nullptr;
  if (queued != nullptr && queued->line == request.line && (request.sectors & ~queued->sectors) == 0 && request.cycle < queued->served) {
    const Cycle done = respond(request, queued->data, partition_of_sm(request.sm) != partition_of_slice(place.slice));
    if (merges) in_flight(request) = {request.line, queued->data, done, request.sectors};
    return done;
  }
  const uint32_t count = static_cast<uint32_t>(std::popcount(request.sectors));
  const bool far = partition_of_sm(request.sm) != partition_of_slice(place.slice);
  const bool is_write = request.kind != MemRequest::Kind::read;
  double now = static_cast<double>(request.cycle);

  if (is_write) { now = take(store_free_[request.sm], now, count * store_cycles_per_sector_); }
  if (far && (is_write || machine_.l2.cross_cycles == 0)) {
    now = take(link_free_[partition_of_slice(place.slice)], now, count * link_cycles_per_sector_);
    counters_[Counter::l2_sectors_far] += count;
  }
  double cost = count * slice_cycles_per_sector_;
  if (is_write) cost = std::max(cost, count * machine_.l2.write_cycles_per_sector);
  if (request.kind == MemRequest::Kind::atomic || request.kind == MemRequest::Kind::reduction)
    cost = std::max<double>(cost, count * machine_.l2.atomic_cycles);
  now = take(slice_free_[place.slice], now, cost);

  bool hit = false;
  Line& line = find_or_evict(place, request.line, static_cast<Cycle>(now), hit);
  counters_[Counter::l2_sectors] += count;
  const uint8_t missing = static_cast<uint8_t>(request.sectors & ~line.valid);
  counters_[Counter::l2_sectors_hit] += count - static_cast<uint32_t>(std::popcount(missing));
  Cycle data = static_cast<Cycle>(now);
  if (request.kind == MemRequest::Kind::write) {
    counters_[Counter::l2_sectors_write] += count;
    line.valid |= request.sectors;  // full sectors: no fill needed
    line.dirty |= request.sectors;
    line.copied &= static_cast<uint8_t>(~request.sectors);
  } else {
    if (is_write) {
      counters_[Counter::l2_sectors_write] += count;
      line.dirty |= request.sectors;
    } else counters_[Counter::l2_sectors_read] += count;
    if (missing != 0) {
      line.ready = std::max(line.ready, fetch_from_dram(request.line, missing, static_cast<Cycle>(now)));
      line.valid |= missing;
    }
    data = std::max(data, line.ready);
    if (is_write) line.copied &= static_cast<uint8_t>(~request.sectors);
    else if (far && machine_.l2.cross_cycles != 0) data = cross(line, request, partition_of_slice(place.slice), now, data);
  }
  if (queued != nullptr) *queued = {request.line, static_cast<Cycle>(now), data, request.sectors};
  const Cycle done = respond(request, data, far);
  if (merges) in_flight(request) = {request.line, data, done, request.sectors};
  return done;
}

}  // namespace tcsim::sim
