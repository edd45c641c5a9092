/** Signals of the browser about the network and the visibility of the page. */

/** The network came back or was lost; the page became visible or hidden. */
export type Signal = "online" | "offline" | "visible" | "hidden";

export interface Environment {
  /** Returns a function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void;
}

/** The environment of the page, or one without signals outside of a browser. */
export function defaultEnvironment(): Environment {
  const scope = globalThis as { window?: EventTarget; document?: Document };
  return scope.window && scope.document
    ? new PageEnvironment(scope.window, scope.document)
    : { subscribe: () => () => undefined };
}

export class PageEnvironment implements Environment {
  constructor(
    private readonly window: EventTarget,
    private readonly document: Pick<Document, "visibilityState"> & EventTarget,
  ) {}

  subscribe(listener: (signal: Signal) => void): () => void {
    const online = () => listener("online");
    const offline = () => listener("offline");
    const visibility = () => listener(this.document.visibilityState === "hidden" ? "hidden" : "visible");
    this.window.addEventListener("online", online);
    this.window.addEventListener("offline", offline);
    this.document.addEventListener("visibilitychange", visibility);
    return () => {
      this.window.removeEventListener("online", online);
      this.window.removeEventListener("offline", offline);
      this.document.removeEventListener("visibilitychange", visibility);
    };
  }
}
