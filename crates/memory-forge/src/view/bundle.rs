//! One classic script from the page's ES modules, for a copy that is opened
//! from the disk: browsers do not load modules by `file://`. It understands
//! only the forms of import and export that the page uses, and refuses others.

use std::fmt::{self, Display, Formatter};

use forge_serve::Asset;

/// The only forms of export. A `let` would need live bindings, which a bundle
/// of functions does not have.
const EXPORTS: [&str; 5] = [
    "export async function ",
    "export function ",
    "export const ",
    "export class ",
    "export ",
];

/// A module that cannot be bundled: a defect of the page's source.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BundleError {
    /// An import names a module that is not an asset.
    MissingModule { path: String },
    /// Modules import each other in a circle.
    ImportCycle { path: String },
    /// A line has another form of import or export.
    UnknownForm { path: String, line: String },
}

impl Display for BundleError {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            BundleError::MissingModule { path } => write!(f, "The page has no module `{path}`"),
            BundleError::ImportCycle { path } => write!(f, "`{path}` imports itself"),
            BundleError::UnknownForm { path, line } => {
                write!(f, "`{path}` cannot be bundled: {line}")
            }
        }
    }
}

/// Returns one script that runs the module `entry` and all that it imports.
///
/// Each module becomes a function that returns its exports, so that names of
/// one module never meet those of another.
pub(super) fn bundle_modules(assets: &[Asset], entry: &str) -> Result<String, BundleError> {
    let mut bundle = ModuleBundle {
        assets,
        open: Vec::new(),
        done: Vec::new(),
        script: "\"use strict\";\n(() => {\nconst modules = {};\n".to_owned(),
    };
    bundle.add_module(entry)?;
    bundle.script.push_str("})();\n");
    Ok(bundle.script)
}

struct ModuleBundle<'a> {
    assets: &'a [Asset],
    /// Modules whose imports are being added.
    open: Vec<String>,
    done: Vec<String>,
    script: String,
}

impl ModuleBundle<'_> {
    /// Adds the imports of a module and then the module itself.
    fn add_module(&mut self, path: &str) -> Result<(), BundleError> {
        if self.done.iter().any(|it| it == path) {
            return Ok(());
        }
        if self.open.iter().any(|it| it == path) {
            let path = path.to_owned();
            return Err(BundleError::ImportCycle { path });
        }
        let asset = self.assets.iter().find(|it| it.path == path);
        let asset = asset.ok_or_else(|| BundleError::MissingModule {
            path: path.to_owned(),
        })?;
        let source = String::from_utf8_lossy(asset.bytes);
        self.open.push(path.to_owned());
        let module = self.read_module(path, &source)?;
        self.open.pop();
        self.done.push(path.to_owned());
        self.script.push_str(&format!(
            "modules[\"{path}\"] = (() => {{\n{module}}})();\n"
        ));
        Ok(())
    }

    /// Returns the body of a module's function. What it imports is added first.
    fn read_module(&mut self, path: &str, source: &str) -> Result<String, BundleError> {
        let mut body = String::new();
        let mut exports: Vec<&str> = Vec::new();
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            let unknown = || BundleError::UnknownForm {
                path: path.to_owned(),
                line: line.to_owned(),
            };
            if line.starts_with("import") {
                let mut import = line.to_owned();
                while !import.ends_with(';') {
                    import.push_str(lines.next().ok_or_else(unknown)?);
                }
                let (names, from) = parse_import(&import).ok_or_else(unknown)?;
                let from = resolve_path(path, from);
                self.add_module(&from)?;
                body.push_str(&format!("const {names} = modules[\"{from}\"];\n"));
            } else if let Some(form) = EXPORTS.iter().find(|it| line.starts_with(**it)) {
                let declared = &line[form.len()..];
                let end = declared.find(|it: char| !it.is_alphanumeric() && it != '_');
                let name = &declared[..end.unwrap_or(declared.len())];
                if *form == "export " || name.is_empty() {
                    return Err(unknown());
                }
                exports.push(name);
                body.push_str(&line["export ".len()..]);
                body.push('\n');
            } else if line.contains("import(") || line.contains("import.meta") {
                return Err(unknown());
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        body.push_str(&format!("return {{ {} }};\n", exports.join(", ")));
        Ok(body)
    }
}

/// Splits `import { a, b } from "./x.js";` into its names and its path.
fn parse_import(import: &str) -> Option<(&str, &str)> {
    let rest = import.strip_prefix("import ")?.strip_suffix("\";")?;
    let (names, from) = rest.split_once(" from \"")?;
    let is_plain = names.starts_with('{') && names.ends_with('}') && !names.contains(" as ");
    (is_plain && from.starts_with('.')).then_some((names, from))
}

/// Resolves the relative path of an import against the module that has it.
fn resolve_path(module: &str, import: &str) -> String {
    let mut parts: Vec<&str> = module.split('/').collect();
    parts.pop();
    for part in import.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::PAGE_ASSETS;

    fn asset(path: &'static str, source: &'static str) -> Asset {
        Asset {
            path,
            kind: "text/javascript",
            bytes: source.as_bytes(),
        }
    }

    #[test]
    fn a_module_follows_what_it_imports() {
        let assets = [
            asset(
                "/start.js",
                "import {\n  one,\n  two,\n} from \"./pages/page.js\";\none(two);\n",
            ),
            asset(
                "/pages/page.js",
                "import { two } from \"../lib.js\";\nexport function one() {}\nexport const two2 = two;\n",
            ),
            asset("/lib.js", "export const two = 2;\n"),
        ];
        let expected = "\"use strict\";\n(() => {\nconst modules = {};\n\
            modules[\"/lib.js\"] = (() => {\nconst two = 2;\nreturn { two };\n})();\n\
            modules[\"/pages/page.js\"] = (() => {\nconst { two } = modules[\"/lib.js\"];\n\
            function one() {}\nconst two2 = two;\nreturn { one, two2 };\n})();\n\
            modules[\"/start.js\"] = (() => {\nconst {  one,  two,} = modules[\"/pages/page.js\"];\n\
            one(two);\nreturn {  };\n})();\n})();\n";
        assert_eq!(
            bundle_modules(&assets, "/start.js").as_deref(),
            Ok(expected)
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for line in [
            "import a from \"./a.js\";",
            "import { a as b } from \"./a.js\";",
            "import \"./a.js\";",
            "import { a } from \"a\";",
            "import { a } from \"./a.js\"",
            "export default function a() {}",
            "export let a = 1;",
            "export { a };",
            "const a = await import(\"./a.js\");",
        ] {
            let bundled = bundle_modules(&[asset("/start.js", line)], "/start.js");
            assert!(
                matches!(bundled, Err(BundleError::UnknownForm { .. })),
                "{line}: {bundled:?}"
            );
        }
    }

    #[test]
    fn circles_and_missing_modules_are_refused() {
        let assets = [
            asset("/a.js", "import { b } from \"./b.js\";\n"),
            asset("/b.js", "import { a } from \"./a.js\";\n"),
            asset("/c.js", "import { d } from \"./d.js\";\n"),
        ];
        let path = "/a.js".to_owned();
        assert_eq!(
            bundle_modules(&assets, "/a.js"),
            Err(BundleError::ImportCycle { path })
        );
        let path = "/d.js".to_owned();
        assert_eq!(
            bundle_modules(&assets, "/c.js"),
            Err(BundleError::MissingModule { path })
        );
    }

    #[test]
    fn every_module_of_the_page_is_preloaded_and_bundled() {
        let bundle = bundle_modules(PAGE_ASSETS, "/start.js").expect("the page can be bundled");
        let index = PAGE_ASSETS.iter().find(|it| it.path == "/index.html");
        let index = String::from_utf8_lossy(index.expect("it is the page").bytes);
        let scripts = PAGE_ASSETS.iter().filter(|it| it.path.ends_with(".js"));
        let modules: Vec<&str> = scripts
            .map(|it| it.path)
            .filter(|it| *it != "/theme.js")
            .collect();
        for path in &modules {
            assert!(
                bundle.contains(&format!("modules[\"{path}\"] = ")),
                "nothing imports {path}"
            );
            let name = path.trim_start_matches('/');
            let preload = format!("<link rel=\"modulepreload\" href=\"{name}\">");
            assert!(
                index.contains(&preload) || *path == "/start.js",
                "index.html does not preload {name}"
            );
        }
        assert_eq!(index.matches("modulepreload").count() + 1, modules.len());
    }
}
