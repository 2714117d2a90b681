// wgmma instructions of the widths that few kernels use; part of the sources of these kernels
// alone, so that all others stay, byte for byte, what was measured.
#ifndef WARPSMITH_HGEMM_DEVICE_WGMMA_WIDTHS_CUH_
#define WARPSMITH_HGEMM_DEVICE_WGMMA_WIDTHS_CUH_

#include "ptx_sm90.cuh"

namespace warpsmith::hgemm::wgmma::ptx {

#define WS_D8(i) WS_D4(i), WS_D4(i + 4)
#define WS_R24 WS_R16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define WS_R40 WS_R32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WS_R56 WS_R48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WS_R72 WS_R64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WS_R88 WS_R80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define WS_R104 WS_R96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define WS_R120 WS_R112 ",%112,%113,%114,%115,%116,%117,%118,%119"

WS_WGMMA(48, WS_R24, "%24", "%25", "%26", "%27", WS_D16(0), WS_D8(16));
WS_WGMMA(80, WS_R40, "%40", "%41", "%42", "%43", WS_D32(0), WS_D8(32));
WS_WGMMA(112, WS_R56, "%56", "%57", "%58", "%59", WS_D32(0), WS_D16(32), WS_D8(48));
WS_WGMMA(144, WS_R72, "%72", "%73", "%74", "%75", WS_D32(0), WS_D32(32), WS_D8(64));
WS_WGMMA(176, WS_R88, "%88", "%89", "%90", "%91", WS_D32(0), WS_D32(32), WS_D16(64), WS_D8(80));
WS_WGMMA(208, WS_R104, "%104", "%105", "%106", "%107", WS_D32(0), WS_D32(32), WS_D32(64),
         WS_D8(96));
WS_WGMMA(224, WS_R112, "%112", "%113", "%114", "%115", WS_D32(0), WS_D32(32), WS_D32(64),
         WS_D16(96));
WS_WGMMA(240, WS_R120, "%120", "%121", "%122", "%123", WS_D32(0), WS_D32(32), WS_D32(64),
         WS_D16(96), WS_D8(112));

}  // namespace warpsmith::hgemm::wgmma::ptx

#endif  // WARPSMITH_HGEMM_DEVICE_WGMMA_WIDTHS_CUH_
