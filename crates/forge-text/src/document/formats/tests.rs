use super::*;
use crate::document;

fn shown(format: DocumentFormat, text: &str) -> String {
    let prose = format.prose(text);
    assert_eq!(prose.len(), text.len(), "{prose}");
    let lines = |text: &str| text.match_indices('\n').map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(lines(&prose), lines(text), "{prose}");
    let lines = prose.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn headings(format: DocumentFormat, text: &str) -> Vec<(u8, String, usize)> {
    let document = document::parse_document(format.prose(text));
    let headings = document.sections.iter().filter(|it| it.level > 0);
    headings
        .map(|it| {
            (
                it.level,
                it.title.clone(),
                document.line_number_at(it.heading.start),
            )
        })
        .collect()
}

#[test]
fn the_end_of_a_name_tells_the_format() {
    let table = [
        ("docs/a.md", Some(DocumentFormat::Markdown), "docs/a"),
        (
            "docs/a.html.markdown",
            Some(DocumentFormat::Markdown),
            "docs/a.html",
        ),
        ("a.mdx", Some(DocumentFormat::Mdx), "a"),
        ("a.rst", Some(DocumentFormat::ReStructuredText), "a"),
        ("a.adoc", Some(DocumentFormat::AsciiDoc), "a"),
        ("a.txt", Some(DocumentFormat::PlainText), "a"),
        ("a.mdc", None, "a.mdc"),
        ("readme", None, "readme"),
    ];
    for (path, format, stem) in table {
        assert_eq!(DocumentFormat::of(path), format, "{path}");
        assert_eq!(without_ending(path), stem, "{path}");
    }
}

#[test]
fn of_mdx_the_words_stay_and_the_code_goes() {
    let text = "\
---
title: Streaming
---
import { Card } from '@/components';
import {
  Tab,
  Tabs,
} from 'ui';
export const meta = {
  a: 1,
};

# Streaming text

<Note>
  Backpressure is handled.
</Note>

<Tabs items={['pnpm', 'npm']}>
    <Tab title=\"With pnpm\" href=\"/x\">
        ## Install it

        Run this first.

        ```ts
        import { a } from 'b';
        const x = <div/>;
        ```
    </Tab>
</Tabs>

<Snippet
  text=\"pnpm add ai\"
  title=\"The package\"
/>

Call `streamText({ a: <T> })` when x < 3 and see {meta.a} <b>bold</b> words<br/>.

:::note Careful
It costs.
:::
";
    let expect = "\
---
title: Streaming
---









# Streaming text


Backpressure is handled.



With pnpm
## Install it

Run this first.

```ts
import { a } from 'b';
const x = <div/>;
```





The package


Call `streamText({ a: <T> })` when x < 3 and see bold words .

note Careful
It costs.
";
    assert_eq!(
        shown(DocumentFormat::Mdx, text).trim_end(),
        expect.trim_end()
    );
    let expect = [
        (1, "Streaming text".to_owned(), 13),
        (2, "Install it".to_owned(), 21),
    ];
    assert_eq!(headings(DocumentFormat::Mdx, text), expect);
}

#[test]
fn a_sentence_that_begins_with_import_is_a_sentence() {
    let text = "import duties are paid by the buyer\n\nexport is free\n";
    assert_eq!(shown(DocumentFormat::Mdx, text), text.trim_end());
}

#[test]
fn headings_of_restructured_text_are_headings() {
    let text = "\
=======
Réponse
=======

Intro words.

First part
----------

Text.

Deeper
~~~~~~

More::

    code here

----

End.
";
    let expect = [
        (1, "Réponse".to_owned(), 2),
        (2, "First part".to_owned(), 7),
        (2, "Deeper".to_owned(), 12),
    ];
    assert_eq!(headings(DocumentFormat::ReStructuredText, text), expect);
}

#[test]
fn headings_of_asciidoc_are_headings() {
    let text = "\
= The title
:toc:

== A part

[source,ruby]
----
== no heading
----

====
An example.
====

=== Deeper
";
    let expect = [
        (1, "The title".to_owned(), 1),
        (2, "A part".to_owned(), 4),
        (3, "Deeper".to_owned(), 15),
    ];
    assert_eq!(headings(DocumentFormat::AsciiDoc, text), expect);
}

proptest::proptest! {
    #[test]
    fn any_text_keeps_its_length_and_its_lines(text in "([a-z<>{}/=\"'`#:~é \n-]{0,12}(<Tab title=\"x\">|import \\{a\\} from 'b'|```|:::|\n)?){0,12}") {
        for (_, format) in ENDINGS {
            let _ = shown(format, &text);
        }
    }
}
