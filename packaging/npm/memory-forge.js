#!/usr/bin/env node
// Starts the program that npm installed for this platform: the one of this
// file's name, since both programs are started in the same way. It lies in an
// optional dependency, so nothing is downloaded and no script runs at install.
"use strict";

const { spawnSync } = require("node:child_process");
const { basename } = require("node:path");

const exe = process.platform === "win32" ? ".exe" : "";
const own = basename(__filename, ".js");
const name = `${own}-${process.platform}-${process.arch}`;

// A glibc program does not start on musl; only one of the two is installed
// where npm knows the difference, and the first that starts is right where not.
const candidates = process.platform === "linux" ? [name, `${name}-musl`] : [name];

function find() {
  const found = [];
  for (const candidate of candidates) {
    try {
      found.push(require.resolve(`${candidate}/bin/${own}${exe}`));
    } catch {
      // Not installed: the next one may be.
    }
  }
  return found;
}

const programs = find();
// `hook` must never fail in a way that a client takes for a verdict.
const failure = process.argv[2] === "hook" ? 0 : 1;
let done;
for (const program of programs) {
  done = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
  if (!done.error) break;
}
if (!done || done.error) {
  const why = done ? `: ${done.error.message}` : "";
  console.error(
    `${own}: no program for ${process.platform} ${process.arch}${why}\n` +
      `It comes with the package ${candidates.join(" or ")}; ` +
      "install again without --omit=optional, or build it with cargo.",
  );
  process.exit(failure);
}
if (done.signal) process.kill(process.pid, done.signal);
process.exit(done.status ?? failure);
