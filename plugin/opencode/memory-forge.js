// Memory Forge for OpenCode: tells `memory-forge hook` about sessions and gives
// the model what it answers. Written by `memory-forge setup opencode` and
// removed by `memory-forge uninstall opencode`; an edited file is left alone.
import { spawn } from "node:child_process"

const program = "memory-forge"
const limit = 15000

// The answer's context, or nothing: a program that is absent, slow or broken
// must never be felt in a session.
function hook(directory, event, session, more) {
  return new Promise((resolve) => {
    const done = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    const timer = setTimeout(() => {
      child?.kill()
      resolve("")
    }, limit)
    let child
    try {
      child = spawn(program, ["hook", "--client", "opencode"], {
        cwd: directory,
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
    } catch {
      return done("")
    }
    let output = ""
    child.on("error", () => done(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => (output += part))
    child.on("close", () => {
      try {
        const answer = JSON.parse(output)
        done(answer.hookSpecificOutput?.additionalContext ?? answer.additionalContext ?? "")
      } catch {
        done("")
      }
    })
    child.stdin.end(
      JSON.stringify({ hook_event_name: event, session_id: session, cwd: directory, ...more }),
    )
  })
}

// One that `setup` wrote and one from a package may both be loaded; the second
// in the same session does nothing.
const key = Symbol.for("memory-forge")

export const MemoryForge = async ({ client, directory }) => {
  const taken = (globalThis[key] ??= new WeakSet())
  if (client && taken.has(client)) return {}
  if (client) taken.add(client)
  // One briefing a session, the same in each request, so that it stays cached.
  const briefings = new Map()
  const reminders = new Map()
  const brief = (session, source) => {
    const text = hook(directory, "SessionStart", session, { source })
    briefings.set(session, text)
    return text
  }
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!session) return
      const text = await (briefings.get(session) ?? brief(session, "startup"))
      if (text) output.system.push(text)
      // What the last stop had to say, for as long as it has it to say.
      const reminder = reminders.get(session)
      if (reminder) output.system.push(reminder)
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await hook(directory, "PreCompact", input.sessionID, { trigger: "auto" })
      if (text) output.context.push(text)
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (!session) return
      if (event.type === "session.compacted") await brief(session, "compact")
      // A stop takes no context here, so its answer goes with the next request.
      if (event.type === "session.idle" && briefings.has(session))
        reminders.set(session, await hook(directory, "Stop", session, {}))
      if (event.type === "session.deleted" && briefings.delete(session)) {
        reminders.delete(session)
        await hook(directory, "SessionEnd", session, { reason: "other" })
      }
    },
  }
}
