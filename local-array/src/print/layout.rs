//! Words into rows, rows into brackets.

use super::Shown;

/// The words of the shown elements, in C order, as nested rows.
pub(super) fn layout(words: &[String], axes: &[Shown], linewidth: usize) -> String {
    if axes.iter().any(|axis| axis.n == 0) {
        return "[]".to_owned();
    }
    nested(words, axes, " ", linewidth)
}

/// One dimension: `indent` is what stands before it on its first line, so that the lines below line up.
fn nested(words: &[String], axes: &[Shown], indent: &str, width: usize) -> String {
    let Some((axis, inner)) = axes.split_first() else {
        return words.first().cloned().unwrap_or_default();
    };
    let shown = axis.len().unwrap_or(0).max(1);
    let step = words.len() / shown;
    let items = words.chunks_exact(step.max(1));
    let mut text = String::new();
    if inner.is_empty() {
        let mut rows = Rows {
            text: &mut text,
            line: indent.to_owned(),
            indent,
        };
        let room = width.saturating_sub(1);
        for (i, word) in items.enumerate() {
            if axis.is_summarised() && i == axis.leading() {
                rows.add("...", room);
                rows.line.push(' ');
            }
            rows.add(&word[0], room);
            if i + 1 < shown {
                rows.line.push(' ');
            }
        }
        let line = rows.line;
        text.push_str(&line);
    } else {
        let below = format!("{indent} ");
        let lines = "\n".repeat(inner.len());
        for (i, item) in items.enumerate() {
            if axis.is_summarised() && i == axis.leading() {
                text.push_str(indent);
                text.push_str("...");
                text.push_str(&lines);
            }
            text.push_str(indent);
            text.push_str(&nested(item, inner, &below, width.saturating_sub(1)));
            if i + 1 < shown {
                text.push_str(&lines);
            }
        }
    }
    format!("[{}]", &text[indent.len()..])
}

/// Lines being filled with words.
struct Rows<'a> {
    text: &'a mut String,
    line: String,
    indent: &'a str,
}

impl Rows<'_> {
    fn add(&mut self, word: &str, room: usize) {
        let is_begun = self.line.len() > self.indent.len();
        if is_begun && self.line.len() + word.len() > room {
            self.text.push_str(self.line.trim_end());
            self.text.push('\n');
            self.indent.clone_into(&mut self.line);
        }
        self.line.push_str(word);
    }
}
