/** What the server takes for a handle; it is the one that decides. */
export const HANDLE_FIELD = {
  required: true,
  minLength: 3,
  maxLength: 32,
  pattern: "[A-Za-z0-9_.]+",
  autocapitalize: "none",
  spellcheck: false,
  dir: "ltr",
} as const;

/** What somebody typed into a field of a form; empty where there is no such field. */
export function fieldOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value : "";
}
