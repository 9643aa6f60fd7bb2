//! [`AnyPart`]: a part whose element type is only known when its file is read.

use dap_protocol::{
    DimData, DistBuffer, ElementType, HostArray, HostBuffer, LocalBuffer, ProtocolVersion,
};

macro_rules! any_part {
    ($($name:ident($t:ty)),* $(,)?) => {
        /// A part of any element type that a file can hold.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyPart {
            $(
                #[doc = concat!("Elements of type `", stringify!($t), "`.")]
                $name(DistBuffer<HostArray<$t>>),
            )*
        }

        impl AnyPart {
            /// The type of the elements.
            #[must_use]
            pub fn element_type(&self) -> ElementType {
                match self { $(Self::$name(part) => part.buffer().element_type(),)* }
            }

            /// The metadata.
            #[must_use]
            pub fn dim_data(&self) -> &DimData {
                match self { $(Self::$name(part) => part.dim_data(),)* }
            }

            /// The version of the protocol that the metadata follows.
            #[must_use]
            pub fn version(&self) -> ProtocolVersion {
                match self { $(Self::$name(part) => part.version(),)* }
            }

            /// The buffer, its element type erased: what any exporter's consumer takes.
            #[must_use]
            pub fn buffer(&self) -> &dyn HostBuffer {
                match self { $(Self::$name(part) => part.buffer(),)* }
            }
        }

        $(
            impl From<DistBuffer<HostArray<$t>>> for AnyPart {
                fn from(part: DistBuffer<HostArray<$t>>) -> Self {
                    Self::$name(part)
                }
            }

            impl TryFrom<AnyPart> for DistBuffer<HostArray<$t>> {
                type Error = AnyPart;

                /// The part, where its elements are of this type; itself otherwise.
                fn try_from(part: AnyPart) -> Result<Self, AnyPart> {
                    match part {
                        AnyPart::$name(part) => Ok(part),
                        other => Err(other),
                    }
                }
            }
        )*

        /// Calls `f` with the Rust type of an element type that files can hold.
        macro_rules! with_element {
            ($element:expr, $T:ident => $body:expr, else $other:expr) => {
                match $element {
                    $(dap_protocol::ElementType::$name => { type $T = $t; $body })*
                    _ => $other,
                }
            };
        }
        pub(crate) use with_element;
    };
}

any_part! {
    Bool(bool),
    I8(i8), I16(i16), I32(i32), I64(i64),
    U8(u8), U16(u16), U32(u32), U64(u64),
    F16(half::f16), F32(f32), F64(f64),
    Complex32(num_complex::Complex32), Complex64(num_complex::Complex64),
}
