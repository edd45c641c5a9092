/** 128 random bits, so that collisions do not occur. Not `randomUUID`, which pages without TLS do not have. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
