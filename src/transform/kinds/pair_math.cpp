#include "transform/kinds/pair_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/kinds/pair_math.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void PairRow(const Particles& p, std::size_t i, std::size_t begin, std::size_t end, float* const* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(d, 1e-8F), turn = hn::Set(d, 6.28318530717958647692F);
  const auto turns = hn::Set(d, 0.15915494309189533577F);
  const auto px = hn::Set(d, p.px[i]), py = hn::Set(d, p.py[i]), pz = hn::Set(d, p.pz[i]);
  const auto energy = hn::Set(d, p.energy[i]), pt = hn::Set(d, p.pt[i]);
  const auto rapidity = hn::Set(d, p.rapidity[i]), phi = hn::Set(d, p.phi[i]);
  // Lists have room behind their ends: what is computed of it goes nowhere.
  for (std::size_t j = begin; j < end; j += lanes) {
    const auto along = hn::Sub(rapidity, hn::LoadU(d, p.rapidity + j));
    auto around = hn::Sub(phi, hn::LoadU(d, p.phi + j));
    around = hn::NegMulAdd(hn::Round(hn::Mul(around, turns)), turn, around);
    const auto delta = hn::Sqrt(hn::MulAdd(around, around, hn::Mul(along, along)));
    const auto other = hn::LoadU(d, p.pt + j);
    const auto softer = hn::Min(pt, other);
    const auto share = hn::Div(softer, hn::Max(hn::Add(pt, other), least));
    const auto e = hn::Add(energy, hn::LoadU(d, p.energy + j)), x = hn::Add(px, hn::LoadU(d, p.px + j));
    const auto y = hn::Add(py, hn::LoadU(d, p.py + j)), z = hn::Add(pz, hn::LoadU(d, p.pz + j));
    const auto momentum = hn::MulAdd(z, z, hn::MulAdd(y, y, hn::Mul(x, x)));
    const auto mass = hn::NegMulAdd(hn::Set(d, 1.0F), momentum, hn::Mul(e, e));
    hn::StoreU(hn::Log(d, hn::Max(hn::Mul(softer, delta), least)), d, out[0] + (j - begin));
    hn::StoreU(hn::Log(d, hn::Max(share, least)), d, out[1] + (j - begin));
    hn::StoreU(hn::Log(d, hn::Max(delta, least)), d, out[2] + (j - begin));
    hn::StoreU(hn::Log(d, hn::Max(mass, least)), d, out[3] + (j - begin));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(PairRow);

void pair_row(const Particles& particles, std::size_t i, std::size_t begin, std::size_t end, float* const out[4]) {
  HWY_DYNAMIC_DISPATCH(PairRow)(particles, i, begin, end, out);
}

}  // namespace headrace
#endif
