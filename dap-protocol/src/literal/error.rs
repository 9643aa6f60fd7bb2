//! [`LiteralError`]: where a text stops being a literal, and why.

/// A text is no literal of the supported subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no Python literal, at byte {offset}: {reason}")]
pub struct LiteralError {
    /// Byte offset into the text, of what could not be read.
    pub offset: usize,
    /// What is the matter there.
    pub reason: Reason,
}

/// Why a text is no literal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The text ends in the middle of a literal.
    #[error("the text ends, expected {0}")]
    End(&'static str),
    /// A character that cannot stand there.
    #[error("found {found:?}, expected {expected}")]
    Unexpected {
        /// What stands there.
        found: char,
        /// What could.
        expected: &'static str,
    },
    /// A name or call that is no constant: everything but `None`, `True`, `False`, `NumPy` scalars and `array`.
    #[error("{0:?} is no constant")]
    Name(String),
    /// The argument of a `NumPy` scalar or array has another type than its name says.
    #[error("the argument of {0} has another type")]
    Argument(String),
    /// An abbreviated array (`...`): its elements are lost.
    #[error("the array is abbreviated by \"...\", its elements are lost")]
    Lossy,
    /// A text longer than [`MAX_LEN`](crate::literal::MAX_LEN).
    #[error("the text is longer than {} bytes", crate::literal::MAX_LEN)]
    Length,
    /// More than [`MAX_DEPTH`](crate::literal::MAX_DEPTH) brackets inside each other.
    #[error("more than {} brackets inside each other", crate::literal::MAX_DEPTH)]
    Depth,
    /// An integer outside 128 bits.
    #[error("the integer does not fit 128 bits")]
    IntegerRange,
    /// A float that is not finite.
    #[error("the number is not finite")]
    NotFinite,
    /// Digits that form no number: `0777`, `1__0`, `5j`.
    #[error("malformed number")]
    Number,
    /// An escape that is malformed, or that names no character.
    #[error("malformed escape")]
    Escape,
    /// A character beyond ASCII in a bytes literal.
    #[error("bytes literals hold ASCII only")]
    NotAscii,
    /// A string prefix that is not `u`, `b`, `r` or a pair of them.
    #[error("unsupported string prefix")]
    Prefix,
    /// A dictionary key that is no string.
    #[error("dictionary keys are strings")]
    Key,
    /// Something follows the literal.
    #[error("text after the literal")]
    Trailing,
}
