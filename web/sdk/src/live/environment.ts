/** What the browser knows of the network and of the user's attention. */

/** The network is there again or gone; the page is looked at again or not. */
export type Signal = "online" | "offline" | "visible" | "hidden";

export interface Environment {
  /** Gives what ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void;
}

/** The page's, or one that never says anything where there is no page. */
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
