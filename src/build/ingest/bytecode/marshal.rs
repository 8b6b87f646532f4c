//! Code as CPython's `marshal` writes it → the one canonical form of the same value.
//!
//! What `marshal` writes depends on what its process did before: whether an object is marked as shared follows its
//! reference count, and which equal constants are one object follows what was compiled earlier. Here equal constants
//! become one, and what is used once is never marked; so the bytes follow from the value alone. Reads the format of
//! CPython 3.11 to 3.14 (version 4, `Python/marshal.c`) and refuses everything else.

use std::collections::HashMap;

/// Python's own parser does not nest as deeply.
const MAX_DEPTH: usize = 600;

/// Marks an object that later references mean.
const FLAG_REF: u8 = 0x80;

/// A reference takes so many bytes; what is not longer is repeated.
const REFERENCE: usize = 5;

/// Why bytes are not the code of a supported Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarshalError {
    /// Cut short.
    #[error("ends too early")]
    Short,
    /// A type that code does not have.
    #[error("type {0:#04x} does not occur in code")]
    Type(u8),
    /// Refers to what was not there before.
    #[error("reference {0} has no goal")]
    Reference(u32),
    /// Nested too deeply.
    #[error("is nested too deeply")]
    Depth,
    /// Something stands behind it.
    #[error("{0} bytes are left over")]
    Rest(usize),
}

/// A value: bytes of its own, then other values.
struct Node {
    /// Type and what belongs to it, without the mark.
    head: Vec<u8>,
    kids: Vec<u32>,
    /// Bytes between the kids and the last two (the first line of code).
    middle: Vec<u8>,
    /// Times it is part of a value that is written.
    uses: u32,
    /// Number it was written under.
    number: Option<u32>,
}

/// The canonical form.
pub fn canonical(bytes: &[u8]) -> Result<Vec<u8>, MarshalError> {
    let mut reader = Reader {
        rest: bytes,
        nodes: Vec::new(),
        known: HashMap::new(),
        references: Vec::new(),
    };
    let root = reader.value(0)?;
    if !reader.rest.is_empty() {
        return Err(MarshalError::Rest(reader.rest.len()));
    }
    let mut writer = Writer {
        nodes: reader.nodes,
        out: Vec::with_capacity(bytes.len()),
        next: 0,
    };
    writer.count(root);
    writer.write(root);
    Ok(writer.out)
}

/// What makes two constants one.
type Identity = (Vec<u8>, Vec<u32>);

struct Reader<'a> {
    rest: &'a [u8],
    nodes: Vec<Node>,
    known: HashMap<Identity, u32>,
    references: Vec<Option<u32>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], MarshalError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(MarshalError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, MarshalError> {
        let bytes = self.take(4)?;
        bytes
            .try_into()
            .map(u32::from_le_bytes)
            .map_err(|_| MarshalError::Short)
    }

    fn byte(&mut self) -> Result<u8, MarshalError> {
        self.take(1)?.first().copied().ok_or(MarshalError::Short)
    }

    fn value(&mut self, depth: usize) -> Result<u32, MarshalError> {
        if depth > MAX_DEPTH {
            return Err(MarshalError::Depth);
        }
        let first = self.byte()?;
        let kind = first & !FLAG_REF;
        if kind == b'r' {
            let number = self.number()?;
            let goal = self.references.get(number as usize).copied().flatten();
            return goal.ok_or(MarshalError::Reference(number));
        }
        // Numbers are given when an object begins, as `marshal` does.
        let reference = (first & FLAG_REF != 0).then(|| {
            self.references.push(None);
            self.references.len() - 1
        });
        let node = match kind {
            b'c' => self.code(depth)?,
            b'(' | b')' | b'>' | b':' => self.constants(kind, depth)?,
            _ => {
                let head = self.leaf(kind)?;
                self.one(head, Vec::new())
            }
        };
        if let Some(slot) = reference.and_then(|r| self.references.get_mut(r)) {
            *slot = Some(node);
        }
        Ok(node)
    }

    /// A constant without parts.
    fn leaf(&mut self, kind: u8) -> Result<Vec<u8>, MarshalError> {
        let start = self.rest;
        match kind {
            b'N' | b'T' | b'F' | b'.' | b'S' => {}
            b'i' => {
                self.take(4)?;
            }
            b'g' => {
                self.take(8)?;
            }
            b'y' => {
                self.take(16)?;
            }
            b'l' => {
                let digits = self.number()?.cast_signed().unsigned_abs() as usize;
                self.take(digits.checked_mul(2).ok_or(MarshalError::Short)?)?;
            }
            b's' | b't' | b'u' | b'a' | b'A' => {
                let len = self.number()?;
                self.take(len as usize)?;
            }
            b'z' | b'Z' => {
                let len = self.byte()?;
                self.take(usize::from(len))?;
            }
            other => return Err(MarshalError::Type(other)),
        }
        let body = start
            .get(..start.len() - self.rest.len())
            .unwrap_or_default();
        // Whether a text of one letter is interned depends on the process; it is one object anyway.
        let kind = match kind {
            b'Z' if body.len() <= 2 => b'z',
            kind => kind,
        };
        Ok([&[kind], body].concat())
    }

    /// A tuple, a frozenset or a slice.
    fn constants(&mut self, kind: u8, depth: usize) -> Result<u32, MarshalError> {
        let start = self.rest;
        let count = match kind {
            b')' => usize::from(self.byte()?),
            b':' => 3,
            _ => self.number()? as usize,
        };
        let size = start
            .get(..start.len() - self.rest.len())
            .unwrap_or_default();
        let head = [&[kind], size].concat();
        if count > self.rest.len() {
            return Err(MarshalError::Short);
        }
        let mut kids = Vec::with_capacity(count);
        for _ in 0..count {
            kids.push(self.value(depth + 1)?);
        }
        if kind == b'>' {
            // In the order of their own bytes: `marshal` sorts by bytes that hold marks.
            kids.sort_by_cached_key(|kid| {
                let mut bytes = Vec::new();
                self.plain(*kid, &mut bytes);
                bytes
            });
        }
        Ok(self.one(head, kids))
    }

    /// A value's bytes with nothing shared, to sort by.
    fn plain(&self, node: u32, out: &mut Vec<u8>) {
        if let Some(node) = self.nodes.get(node as usize) {
            out.extend_from_slice(&node.head);
            node.kids.iter().for_each(|kid| self.plain(*kid, out));
        }
    }

    /// Code: five numbers, eight values, the first line, two values. Never one with other code: it has an identity.
    fn code(&mut self, depth: usize) -> Result<u32, MarshalError> {
        let head = [b"c", self.take(20)?].concat();
        let mut kids = Vec::with_capacity(10);
        for _ in 0..8 {
            kids.push(self.value(depth + 1)?);
        }
        let middle = self.take(4)?.to_vec();
        for _ in 0..2 {
            kids.push(self.value(depth + 1)?);
        }
        Ok(self.add(Node {
            head,
            kids,
            middle,
            uses: 0,
            number: None,
        }))
    }

    fn add(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// The one node of this constant.
    fn one(&mut self, head: Vec<u8>, kids: Vec<u32>) -> u32 {
        let identity = (head, kids);
        if let Some(node) = self.known.get(&identity) {
            return *node;
        }
        let node = self.add(Node {
            head: identity.0.clone(),
            kids: identity.1.clone(),
            middle: Vec::new(),
            uses: 0,
            number: None,
        });
        self.known.insert(identity, node);
        node
    }
}

struct Writer {
    nodes: Vec<Node>,
    out: Vec<u8>,
    next: u32,
}

impl Writer {
    fn count(&mut self, node: u32) {
        let Some(found) = self.nodes.get_mut(node as usize) else {
            return;
        };
        found.uses += 1;
        if found.uses == 1 {
            for kid in found.kids.clone() {
                self.count(kid);
            }
        }
    }

    fn write(&mut self, node: u32) {
        let Some(found) = self.nodes.get_mut(node as usize) else {
            return;
        };
        if let Some(number) = found.number {
            self.out.push(b'r');
            self.out.extend_from_slice(&number.to_le_bytes());
            return;
        }
        let start = self.out.len();
        self.out.extend_from_slice(&found.head);
        let repeated = found.kids.is_empty() && found.head.len() <= REFERENCE;
        if found.uses > 1 && !repeated {
            if let Some(kind) = self.out.get_mut(start) {
                *kind |= FLAG_REF;
            }
            found.number = Some(self.next);
            self.next += 1;
        }
        let (kids, middle) = (found.kids.clone(), std::mem::take(&mut found.middle));
        let behind = if middle.is_empty() { kids.len() } else { 8 };
        let (before, after) = kids.split_at(behind.min(kids.len()));
        before.iter().for_each(|kid| self.write(*kid));
        self.out.extend_from_slice(&middle);
        after.iter().for_each(|kid| self.write(*kid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_what_is_used_once_go_and_numbers_close_up() {
        // (("abcdef" marked, never meant), "ghijkl" marked, reference to it)
        let bytes = [
            &b")\x03"[..],
            b"\xda\x06abcdef",
            b"\xda\x06ghijkl",
            b"r\x01\0\0\0",
        ]
        .concat();
        let expected = [
            &b")\x03"[..],
            b"Z\x06abcdef",
            b"\xda\x06ghijkl",
            b"r\0\0\0\0",
        ]
        .concat();
        assert_eq!(canonical(&bytes).unwrap(), expected);
        assert_eq!(canonical(&expected).unwrap(), expected);
    }

    #[test]
    fn equal_constants_become_one_whether_they_were_or_not() {
        let set = |first: &[u8], second: &[u8]| [b"\xbe\x02\0\0\0", first, second].concat();
        let (a, b) = (&b"\xda\x04aaaa"[..], &b"\xda\x04bbbb"[..]);
        let shared = [&b")\x02"[..], &set(a, b), b"r\0\0\0\0"].concat();
        let apart = [
            &b")\x02"[..],
            &set(a, b),
            b">\x02\0\0\0r\x02\0\0\0r\x01\0\0\0",
        ]
        .concat();
        let turned = [&b")\x02"[..], &set(b, a), b"r\0\0\0\0"].concat();
        let one = canonical(&shared).unwrap();
        assert_eq!(canonical(&apart).unwrap(), one);
        assert_eq!(canonical(&turned).unwrap(), one);
    }

    #[test]
    fn short_constants_are_repeated() {
        let bytes = b")\x03\xe9\x01\0\0\0r\0\0\0\0Z\x01x";
        assert_eq!(
            canonical(bytes).unwrap(),
            b")\x03i\x01\0\0\0i\x01\0\0\0z\x01x"
        );
    }

    #[test]
    fn refuses_what_is_no_code() {
        assert_eq!(canonical(b""), Err(MarshalError::Short));
        assert_eq!(canonical(b"NN"), Err(MarshalError::Rest(1)));
        assert_eq!(canonical(b"["), Err(MarshalError::Type(b'[')));
        assert_eq!(canonical(b"r\0\0\0\0"), Err(MarshalError::Reference(0)));
        assert_eq!(canonical(b"(\xff\xff\xff\xff"), Err(MarshalError::Short));
        assert_eq!(
            canonical(b"\xa9\x01r\0\0\0\0"),
            Err(MarshalError::Reference(0))
        );
        assert_eq!(canonical(&b")\x01".repeat(3000)), Err(MarshalError::Depth));
    }
}
