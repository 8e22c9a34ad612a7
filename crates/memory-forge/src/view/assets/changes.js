// Undoes changes, with a toast that offers to redo them.

import { refresh } from "./router.js";
import { send } from "./server.js";
import { toast } from "./widgets.js";

/** Reports a change that was made, with a button that undoes it. */
export function reportChange(text, changeId) {
  toast(text, changeId && { label: "Undo", run: () => undoChange(changeId) });
}

/** Undoes a change by its id and draws the page again. */
export async function undoChange(id) {
  try {
    const done = await send("undo", { id });
    toast(`Undone: ${done.what}`, done.change && { label: "Redo", run: () => undoChange(done.change) });
    refresh();
  } catch (error) {
    toast(error.message);
  }
}
