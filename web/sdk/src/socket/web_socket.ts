/** The part of a WebSocket that is used here: that of browsers, and `ws` in Node. */

/** Written as a method, so that handlers which know more of the event than is needed here fit as well. */
type Handler<E> = { handle(event: E): void }["handle"] | null;

export interface WebSocketLike {
  onmessage: Handler<{ data: unknown }>;
  onclose: Handler<{ code: number; reason: string }>;
  onerror: Handler<unknown>;
  send(text: string): void;
  close(): void;
}

export type WebSocketConstructor = new (url: string) => WebSocketLike;

/** `http` becomes `ws`, and `https` becomes `wss`. */
export function socketUrl(baseUrl: string): string {
  return `${baseUrl.replace(/\/+$/, "").replace(/^http/, "ws")}/v1/ws`;
}

export function defaultWebSocket(): WebSocketConstructor {
  const constructor = (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
  if (!constructor) {
    throw new Error("there is no WebSocket here: give one in the configuration");
  }
  return constructor;
}
