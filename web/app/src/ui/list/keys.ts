/** Keyboard navigation through the rows. */

/** Up and Down move between rows, Home and End to the first and last rendered row. */
export function onListKey(event: KeyboardEvent): void {
  const list = event.currentTarget;
  if (event.altKey || !(list instanceof HTMLElement)) {
    return;
  }
  const rows = [...list.querySelectorAll<HTMLElement>(".row")];
  const index = rows.findIndex((row) => row === document.activeElement);
  const next: Partial<Record<string, HTMLElement | undefined>> = {
    ArrowDown: rows[index + 1],
    ArrowUp: rows[index - 1],
    Home: rows[0],
    End: rows.at(-1),
  };
  if (event.key in next) {
    event.preventDefault();
    next[event.key]?.focus();
  }
}

/** In the search field, Down moves to the rows, and Enter opens the first one. */
export function onSearchKey(event: KeyboardEvent): void {
  const field = event.currentTarget;
  const row =
    field instanceof HTMLElement ? field.closest("nav")?.querySelector<HTMLElement>(".row") : undefined;
  if (event.key === "ArrowDown") {
    event.preventDefault();
    row?.focus();
  } else if (event.key === "Enter" && !event.isComposing) {
    row?.click();
  }
}
