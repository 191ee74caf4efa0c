//! The wire format: tagged numbers and lengths.

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    Number(u64),
    /// A fixed width that no message of ours uses; skipped.
    Fixed,
    Bytes(&'a [u8]),
}

/// Reads the fields of a message one after the other.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// The next field and its number; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => self.take(8).map(|_| Field::Fixed)?,
            5 => self.take(4).map(|_| Field::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| too_short())?;
                Field::Bytes(self.take(length)?)
            }
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        Ok(Some((tag >> 3, field)))
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(too_short)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(too_short)?;
        self.0 = rest;
        Ok(taken)
    }
}

fn too_short() -> String {
    "unexpected EOF".to_owned()
}

/// Writes the fields of a message.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn text(&mut self, number: u64, text: &str) -> &mut Self {
        self.bytes(number, text.as_bytes())
    }

    pub(crate) fn message(&mut self, number: u64, message: &Self) -> &mut Self {
        self.bytes(number, &message.0)
    }

    fn bytes(&mut self, number: u64, bytes: &[u8]) -> &mut Self {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    #[cfg(test)]
    pub(crate) fn number(&mut self, field: u64, number: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn varint(&mut self, mut number: u64) {
        while number > 0x7F {
            self.0.push(u8::try_from(number & 0x7F).unwrap_or_default() | 0x80);
            number >>= 7;
        }
        self.0.push(u8::try_from(number).unwrap_or_default());
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = Writer::default();
        writer.text(1, "a").number(300, 1 << 40).text(2, &"x".repeat(200));
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.next(), Ok(Some((1, Field::Bytes(b"a")))));
        assert_eq!(reader.next(), Ok(Some((300, Field::Number(1 << 40)))));
        assert_eq!(reader.next(), Ok(Some((2, Field::Bytes("x".repeat(200).as_bytes())))));
        assert_eq!(reader.next(), Ok(None));
    }

    #[test]
    fn a_message_that_is_cut_off_or_nonsense_is_refused() {
        for bytes in
            [&b"\x0a\x05ab"[..], b"\x80", b"\x0f", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
        {
            assert!(Reader::new(bytes).next().is_err_and(|why| !why.is_empty()), "{bytes:?}");
        }
    }
}
