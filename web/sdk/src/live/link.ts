/** A connection with a signed-in user. */

import type { SignedInSocket } from "../api.js";
import { codeOf, NotSignedInError } from "../errors.js";
import type { Http } from "../http/index.js";
import type { Closed } from "../socket/closed.js";
import type { SocketEvent } from "../socket/frames.js";
import { Socket, type WebSocketConstructor } from "../socket/index.js";

export interface LinkListener {
  event(event: SocketEvent): void;
  closed(closed: Closed): void;
}

export class Link {
  /** Events that arrived before a listener was attached. They may follow the reply to the sign-in at once. */
  private early: SocketEvent[] = [];
  private listener: LinkListener | undefined;

  private constructor(
    readonly socket: Socket,
    readonly signedIn: SignedInSocket,
    /** The token with which the socket is signed in. */
    readonly accessToken: string,
  ) {}

  static async open(
    http: Http,
    webSocket: WebSocketConstructor | undefined,
    signal: AbortSignal,
  ): Promise<Link> {
    const token = http.auth.accessToken;
    if (token === undefined) {
      throw new NotSignedInError();
    }
    let link: Link | undefined;
    const early: SocketEvent[] = [];
    const config = {
      baseUrl: http.baseUrl,
      onEvent: (event: SocketEvent) => (link ? link.hear(event) : early.push(event)),
      onClose: (closed: Closed) => link?.listener?.closed(closed),
    };
    const socket = await Socket.connect(webSocket ? { ...config, webSocket } : config, signal);
    const giveUp = () => socket.close();
    signal.addEventListener("abort", giveUp);
    try {
      const { accessToken, signedIn } = await signIn(http, socket, token);
      link = new Link(socket, signedIn, accessToken);
      link.early = early;
      return link;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Attaches the listener, which first gets the events that have arrived already. */
  listen(listener: LinkListener): void {
    this.listener = listener;
    const early = this.early;
    this.early = [];
    for (const event of early) {
      listener.event(event);
    }
    if (this.socket.closed) {
      listener.closed(this.socket.closed);
    }
  }

  private hear(event: SocketEvent): void {
    if (this.listener) {
      this.listener.event(event);
    } else {
      this.early.push(event);
    }
  }
}

export interface SignIn {
  /** The token that was used in the end. */
  accessToken: string;
  signedIn: SignedInSocket;
}

/** Signs in, with a fresh token if this one has expired. */
async function signIn(http: Http, socket: Socket, token: string): Promise<SignIn> {
  try {
    return { accessToken: token, signedIn: await socket.command("sign_in", { access_token: token }) };
  } catch (error) {
    const fresh = codeOf(error) === "token_expired" ? await http.auth.renew(token) : undefined;
    if (fresh === undefined) {
      throw error;
    }
    return { accessToken: fresh, signedIn: await socket.command("sign_in", { access_token: fresh }) };
  }
}

/** Signs in again before the token expires; `undefined` if there is no other token. */
export async function signInAgain(http: Http, socket: Socket, used: string): Promise<SignIn | undefined> {
  const fresh = await http.auth.renew(used);
  return fresh === undefined ? undefined : await signIn(http, socket, fresh);
}
