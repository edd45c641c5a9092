/** The part of the WebSocket interface that is used here, common to browsers and to `ws` in Node. */

/** Declared as a method, so that its parameter is bivariant and handlers of more specific events are assignable. */
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
    throw new Error("this runtime has no WebSocket: pass one in the configuration");
  }
  return constructor;
}
