//! `NumPy`'s draws from the Mersenne Twister, as `RandomState` makes them and will make them: its stream is frozen (NEP 19).

use super::label::RankRandom;

impl RankRandom {
    /// A normal number, by the polar method of G. Marsaglia and T. A. Bray (SIAM Review 6, 1964): two at a time, the second
    /// of which is kept for the next call.
    pub(super) fn gauss(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        loop {
            let x = 2.0 * self.random() - 1.0;
            let y = 2.0 * self.random() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.kept = Some(factor * x);
                return factor * y;
            }
        }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.random()).ln()
    }

    /// A number of the gamma distribution: below shape 1 by J. H. Ahrens and U. Dieter (Computing 12, 1974), above it by
    /// G. Marsaglia and W. W. Tsang (ACM Transactions on Mathematical Software 26, 2000).
    #[expect(clippy::float_cmp, reason = "1 has a method of its own")]
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape == 1.0 {
            return self.exponential();
        }
        if shape < 1.0 {
            loop {
                let u = self.random();
                let v = self.exponential();
                if u <= 1.0 - shape {
                    let x = u.powf(1.0 / shape);
                    if x <= v {
                        return x;
                    }
                } else {
                    let y = -((1.0 - u) / shape).ln();
                    let x = (1.0 - shape + shape * y).powf(1.0 / shape);
                    if x <= v + y {
                        return x;
                    }
                }
            }
        }
        let b = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * b).sqrt();
        loop {
            let (x, v) = loop {
                let x = self.gauss();
                let v = 1.0 + c * x;
                if v > 0.0 {
                    break (x, v);
                }
            };
            let v = v * v * v;
            let u = self.random();
            if u < 1.0 - 0.0331 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + b * (1.0 - v + v.ln())
            {
                return b * v;
            }
        }
    }

    /// A number of the beta distribution: by M. D. Jöhnk (Metrika 8, 1964) where no parameter is above 1, else of two gammas.
    pub(super) fn one_beta(&mut self, a: f64, b: f64) -> f64 {
        if a > 1.0 || b > 1.0 {
            let x = self.gamma(a);
            let y = self.gamma(b);
            return x / (x + y);
        }
        loop {
            let u = self.random();
            let v = self.random();
            let (x, y) = (u.powf(1.0 / a), v.powf(1.0 / b));
            if x + y <= 1.0 && u + v > 0.0 {
                if x + y > 0.0 {
                    return x / (x + y);
                }
                let (x, y) = (u.ln() / a, v.ln() / b);
                let most = x.max(y);
                let (x, y) = (x - most, y - most);
                return (x - (x.exp() + y.exp()).ln()).exp();
            }
        }
    }

    /// An integer of `0..=most`, by masking and rejection.
    pub(super) fn at_most(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let mask = u64::MAX >> most.leading_zeros();
        loop {
            let low = u64::from(self.generator.next_u32());
            let word = if u32::try_from(most).is_ok() {
                low
            } else {
                low << 32 | u64::from(self.generator.next_u32())
            };
            if word & mask <= most {
                return word & mask;
            }
        }
    }
}
