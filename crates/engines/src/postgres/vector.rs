//! Vectors as `halfvec` takes them: half-precision numbers in network order.

use bytes::{BufMut, BytesMut};
use forge::index::Packed;
use postgres_types::{IsNull, ToSql, Type, to_sql_checked};

#[derive(Debug)]
pub(super) struct HalfVec(Vec<u16>);

impl HalfVec {
    pub(super) fn of(packed: &Packed) -> HalfVec {
        HalfVec(packed.values().map(half).collect())
    }
}

impl ToSql for HalfVec {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.put_u16(u16::try_from(self.0.len())?);
        out.put_u16(0);
        self.0.iter().for_each(|it| out.put_u16(*it));
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "halfvec"
    }

    to_sql_checked!();
}

/// The nearest half-precision number, ties to even; too large is the largest.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = value.abs();
    if magnitude.is_nan() || magnitude >= 65504.0 {
        return sign | 0x7bff;
    }
    // Below 2^-14 numbers are multiples of 2^-24.
    if magnitude < 6.103_515_6e-5 {
        return sign | (magnitude * 16_777_216.0).round_ties_even() as u16;
    }
    let bits = magnitude.to_bits();
    let rounded = bits + 0xfff + ((bits >> 13) & 1);
    sign | ((rounded >> 13) - ((127 - 15) << 10)) as u16
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn numbers_become_the_nearest_half() {
        for (value, expect) in [
            (0.0, 0x0000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (0.1, 0x2e66),
            (65504.0, 0x7bff),
            (1e9, 0x7bff),
            (6.103_515_6e-5, 0x0400),
            (5.960_464_5e-8, 0x0001),
            (-0.333_333_34, 0xb555),
        ] {
            assert_eq!(half(value), expect, "{value}");
        }
    }
}
