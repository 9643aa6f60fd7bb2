#![no_main]
//! Any bytes as a Python literal, and as `dim_data` where they are one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dap_protocol::testkit::fuzz_literal(bytes));
