//! Reads what descriptions hold, for the rest of the program: a catalogue is read once.

use serde::{Deserialize, Deserializer};

struct Text(&'static str);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self(Box::leak(Box::<str>::deserialize(input)?)))
    }
}

pub(crate) fn text<'de, D: Deserializer<'de>>(input: D) -> Result<&'static str, D::Error> {
    Ok(Text::deserialize(input)?.0)
}

pub(crate) fn optional_text<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<&'static str>, D::Error> {
    Ok(Option::<Text>::deserialize(input)?.map(|text| text.0))
}

pub(crate) fn optional_pair<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<(&'static str, &'static str)>, D::Error> {
    Ok(Option::<(Text, Text)>::deserialize(input)?.map(|(one, other)| (one.0, other.0)))
}

pub(crate) fn texts<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<&'static [&'static str], D::Error> {
    Ok(Vec::<Text>::deserialize(input)?
        .iter()
        .map(|text| text.0)
        .collect::<Vec<_>>()
        .leak())
}

pub(crate) fn pairs<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<&'static [(&'static str, &'static str)], D::Error> {
    let pairs = Vec::<(Text, Text)>::deserialize(input)?;
    Ok(pairs
        .iter()
        .map(|(one, other)| (one.0, other.0))
        .collect::<Vec<_>>()
        .leak())
}

pub(crate) fn slice<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    input: D,
) -> Result<&'static [T], D::Error> {
    Ok(Vec::deserialize(input)?.leak())
}
