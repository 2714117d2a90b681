// What follows from a wgmma configuration, as Geometry in device/wgmma_tile.cuh computes it.
#ifndef WARPSMITH_HGEMM_WGMMA_GEOMETRY_H_
#define WARPSMITH_HGEMM_WGMMA_GEOMETRY_H_

#include <cstdint>

#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {

// Warpgroups that share a tile, how they divide it, and what each one has of it.
int64_t WgmmaSharers(const WgmmaParameters& parameters);
int64_t WgmmaWarpgroupColumns(const WgmmaParameters& parameters);
int64_t WgmmaAccumulators(const WgmmaParameters& parameters);  // registers of a thread

int64_t WgmmaPanelColumns(const WgmmaParameters& parameters);  // of C, as it is stored by TMA
// Panels of C staged per warpgroup: as many as fit, of those that divide a tile's.
int64_t WgmmaStorePanels(const WgmmaParameters& parameters);

// K ranges of a tile: its splits and slices. Each needs a k-block.
int64_t WgmmaParts(const WgmmaParameters& parameters);
int64_t WgmmaMinimumKBlocks(const WgmmaParameters& parameters);

// There is a wgmma instruction for every warpgroup's share.
bool HasWgmmaInstruction(const WgmmaParameters& parameters, Layout layout);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_WGMMA_GEOMETRY_H_
