/** The attributes of a field for a handle. The server makes the final check. */
export const HANDLE_FIELD = {
  required: true,
  minLength: 3,
  maxLength: 32,
  pattern: "[A-Za-z0-9_.]+",
  autocapitalize: "none",
  spellcheck: false,
  dir: "ltr",
} as const;

/** The value of a form field; empty if there is no such field. */
export function fieldOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value : "";
}
