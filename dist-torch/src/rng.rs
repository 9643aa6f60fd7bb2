//! Random numbers: [`TorchRng`], torch's own, and [`SampleRng`], one for each sample.

mod sample;
mod torch;

pub use sample::SampleRng;
pub use torch::TorchRng;
