//! [`HandleRefusal`]: what lazy handles refuse.

use serde::{Deserialize, Serialize};

use super::Refusal;

/// What a handle ([`open_dset`](crate::open_dset)), or a tree of them ([`open`](crate::open)), refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HandleRefusal {
    /// The dataset is another one than when the handle was opened: its byte order or its chunks differ.
    #[error("the dataset is stored in another way than when it was opened: open it again")]
    Replaced,
    /// Elements that cannot be written in place.
    #[error(
        "the elements are stored {storage}; assigned to are contiguous datasets, and chunked ones of at most 4096 chunks"
    )]
    Overwrite {
        /// How they are stored.
        storage: String,
    },
    /// The datasets of a group have different shapes, so they are no array of structures.
    #[error("most members are {shape}, but {}", members_text(others))]
    Leaves {
        /// The shape that most have.
        shape: String,
        /// Names and shapes of the others.
        others: Vec<(String, String)>,
    },
    /// A dataset of a group that cannot be a leaf of a tree.
    #[error("the leaf {name:?}: {refusal}")]
    Leaf {
        /// Its name in the group.
        name: String,
        /// What is wrong with it.
        refusal: Box<Refusal>,
    },
}

fn members_text(members: &[(String, String)]) -> String {
    let members = members.iter();
    let members: Vec<_> = members
        .map(|(name, shape)| format!("{name} is {shape}"))
        .collect();
    members.join(", ")
}
