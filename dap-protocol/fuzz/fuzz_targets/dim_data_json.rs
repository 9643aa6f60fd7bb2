#![no_main]
//! JSON as `dim_data` of one rank, and of all.

use dap_protocol::DimData;
use dap_protocol::literal::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        dap_protocol::testkit::fuzz_dim_data_json(&value);
    }
    if let Ok(data) = serde_json::from_slice::<DimData>(bytes) {
        let text = serde_json::to_string(&data).expect("metadata is JSON");
        let again: DimData = serde_json::from_str(&text).expect("our JSON is metadata");
        assert_eq!(again, data);
    }
});
