// The plugin as a whole, for `"plugin": ["file:///…/plugin/opencode/index.js"]`
// in opencode.json: the hooks that `memory-forge setup opencode` installs too,
// the MCP server, and the skills beside this folder.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export { MemoryForge } from "./memory-forge.js"

const program = "memory-forge"
const skills = join(dirname(dirname(fileURLToPath(import.meta.url))), "skills")

const installed = () =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .some((folder) => existsSync(join(folder, program)) || existsSync(join(folder, `${program}.exe`)))

// Skills that only people start become commands: OpenCode tells the model of
// every skill that it finds. The others are given to it one by one.
function explicit(config) {
  const paths = []
  for (const name of existsSync(skills) ? readdirSync(skills) : []) {
    const text = readFileSync(join(skills, name, "SKILL.md"), "utf8")
    const [, front, body] = text.match(/^---\n([^]*?)\n---\n\n([^]*)$/) ?? []
    if (!front) continue
    if (!/^disable-model-invocation: true$/m.test(front)) {
      paths.push(join(skills, name))
      continue
    }
    const description = front.match(/^description: (.*)$/m)?.[1]
    const template = `${body}\nWhat the user typed: $ARGUMENTS\n`
    config.command ??= {}
    config.command[`memory-forge-${name}`] ??= { description, template }
  }
  return paths
}

export const MemoryForgeConfig = async () => ({
  config: async (config) => {
    // Without the program nothing of this would work; say nothing then.
    if (!installed()) return
    config.mcp ??= {}
    config.mcp[program] ??= { type: "local", command: [program, "mcp"], enabled: true }
    const paths = explicit(config)
    config.skills ??= {}
    config.skills.paths = [...(config.skills.paths ?? []), ...paths]
  },
})
